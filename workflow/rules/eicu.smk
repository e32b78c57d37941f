# eICU through FIDDLE: the user's own credentialed files, or a simulated cohort in the same format.
EICU_TABLES = ["performance", "features"]


rule simulate_eicu:
    input:
        code=code_of("simulate_eicu"),
    output:
        directory(f"{RESULTS}/eicu/simulated"),
    log:
        f"{RESULTS}/logs/simulate_eicu.log",
    benchmark:
        f"{RESULTS}/benchmarks/simulate_eicu.tsv"
    priority: SOON
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=2000,
    params:
        size=RUN.eicu and RUN.eicu.size,
        scenario=RUN.eicu and RUN.eicu.scenario,
        strength=RUN.eicu and RUN.eicu.strength,
        seed=RUN.seed,
    message:
        "Simulating an eICU cohort as FIDDLE would write it"
    script:
        "../scripts/simulate_eicu.py"


# The account comes from PHYSIONET_USERNAME and PHYSIONET_PASSWORD or a prompt, never from a configuration.
rule download_eicu:
    output:
        f"{EICU_FOLDER}/downloaded.json",
    log:
        f"{EICU_FOLDER}/logs/download_eicu.log",
    benchmark:
        f"{EICU_FOLDER}/logs/download_eicu.tsv"
    localrule: True
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=500,
    message:
        "Downloading eICU with your PhysioNet account"
    script:
        "../scripts/download_eicu.py"


rule run_eicu:
    input:
        files=eicu_files,
        code=code_of("run_eicu"),
    output:
        scores=f"{RESULTS}/eicu/scores.csv",
        coefficients=f"{RESULTS}/eicu/coefficients.csv",
        relative=f"{RESULTS}/eicu/relative_missingness.csv",
        summary=f"{RESULTS}/eicu/relative_missingness_summary.csv",
        # Whether the files were simulated: all that is made of these results says so.
        cohort=f"{RESULTS}/eicu/cohort.json",
    log:
        f"{RESULTS}/logs/run_eicu.log",
    benchmark:
        f"{RESULTS}/benchmarks/run_eicu.tsv"
    priority: SOON
    conda:
        "../envs/dams.yml"
    # One for each target hospital.
    threads: 2
    resources:
        mem_mb=2500,
    params:
        folder=eicu_folder,
        hospitals=RUN.eicu and RUN.eicu.hospitals,
        two_way=RUN.eicu and RUN.eicu.two_way,
        bootstrap=RUN.bootstrap.model_dump(),
        seed=RUN.seed,
    message:
        "Predicting mortality in one hospital from the other"
    script:
        "../scripts/run_eicu.py"


rule report_eicu:
    input:
        **rules.run_eicu.output,
        published="dams/report/paper/eicu.csv",
        code=code_of("report_eicu"),
    output:
        tables=expand(
            f"{RESULTS}/eicu/{{table}}.{{suffix}}",
            table=EICU_TABLES,
            suffix=TABLE_FORMATS,
        ),
        figure=expand(f"{RESULTS}/eicu/prevalence.{{suffix}}", suffix=FIGURE_FORMATS),
    log:
        f"{RESULTS}/logs/report_eicu.log",
    benchmark:
        f"{RESULTS}/benchmarks/report_eicu.tsv"
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=1000,
    message:
        "Writing the eICU tables and figure"
    script:
        "../scripts/report_eicu.py"


rule eicu:
    input:
        rules.run_eicu.output,
        rules.report_eicu.output,
