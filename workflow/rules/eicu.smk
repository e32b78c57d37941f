# eICU through FIDDLE: the user's own credentialed files, or a simulated cohort in the same format.


rule simulate_eicu:
    output:
        directory(product("eicu_simulated")),
        digests=digests_made_by("simulate_eicu"),
    log:
        log_of("simulate_eicu"),
    benchmark:
        benchmark_of("simulate_eicu")
    priority: SOON
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(2000),
    params:
        code=code_of("simulate_eicu"),
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
        mem_mb=memory(500),
    message:
        "Downloading eICU with your PhysioNet account"
    script:
        "../scripts/download_eicu.py"


rule run_eicu:
    input:
        files=asked_for("eicu", EICU_FILES),
    output:
        **made_by("run_eicu"),
    log:
        log_of("run_eicu"),
    benchmark:
        benchmark_of("run_eicu")
    priority: SOON
    conda:
        "../envs/dams.yml"
    # One for each target hospital.
    threads: 2
    resources:
        mem_mb=memory(2500),
    params:
        code=code_of("run_eicu"),
        hospitals=RUN.eicu and RUN.eicu.hospitals,
        two_way=RUN.eicu and RUN.eicu.two_way,
        bootstrap=RUN.bootstrap.model_dump(),
        seed=RUN.seed,
        captions=captions_of,
    message:
        "Predicting mortality in one hospital from the other"
    script:
        "../scripts/run_eicu.py"


rule report_eicu:
    input:
        **products_in(rules.run_eicu.output),
    output:
        **made_by("report_eicu"),
    log:
        log_of("report_eicu"),
    benchmark:
        benchmark_of("report_eicu")
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(1000),
    params:
        code=code_of("report_eicu"),
        captions=captions_of,
    message:
        "Writing the eICU tables and figure"
    script:
        "../scripts/report_eicu.py"


rule eicu:
    """The eICU study."""
    input:
        rules.run_eicu.output,
        rules.report_eicu.output,
