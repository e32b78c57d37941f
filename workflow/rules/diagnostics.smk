# Whether values are lost completely at random, and how far the rates of source and target are apart.
DIAGNOSED = cells_to_diagnose(RUN)


rule diagnose_cells:
    input:
        data=[
            f"{RESULTS}/data/{name}.npz"
            for name in sorted({cell.key.dataset for cell in DIAGNOSED})
            if not is_scenario(name)
        ],
        code=code_of("diagnose_cells"),
    output:
        verdicts=f"{RESULTS}/diagnostics/verdicts.csv",
        summary=f"{RESULTS}/diagnostics/missingness_by_cell.csv",
        relative=f"{RESULTS}/diagnostics/relative_missingness.csv",
        figure=expand(
            f"{RESULTS}/diagnostics/relative_missingness.{{suffix}}",
            suffix=FIGURE_FORMATS,
        ),
    log:
        f"{RESULTS}/logs/diagnose_cells.log",
    benchmark:
        f"{RESULTS}/benchmarks/diagnose_cells.tsv"
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=1500,
    params:
        cells=DIAGNOSED,
        confidence=RUN.bootstrap.confidence,
        seed=RUN.seed,
    message:
        "Checking how values are lost in one cell of every regime"
    script:
        "../scripts/diagnose_cells.py"


rule diagnose_eicu:
    input:
        files=eicu_files,
        code=code_of("diagnose_eicu"),
    output:
        verdicts=f"{RESULTS}/diagnostics/hospital_verdicts.csv",
        spread=f"{RESULTS}/diagnostics/hospital_checks.csv",
        figure=expand(
            f"{RESULTS}/diagnostics/hospital_checks.{{suffix}}", suffix=FIGURE_FORMATS
        ),
    log:
        f"{RESULTS}/logs/diagnose_eicu.log",
    benchmark:
        f"{RESULTS}/benchmarks/diagnose_eicu.tsv"
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=1500,
    params:
        folder=eicu_folder,
        hospitals=RUN.eicu and RUN.eicu.hospitals,
        seed=RUN.seed,
    message:
        "Checking how the hospitals lose values"
    script:
        "../scripts/diagnose_eicu.py"


rule diagnostics:
    input:
        rules.diagnose_cells.output,
        rules.diagnose_eicu.output if RUN.eicu else [],
