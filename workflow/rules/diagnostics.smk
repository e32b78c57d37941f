# Whether values are lost completely at random, and how far the rates of source and target are apart.
DIAGNOSED = design.cells_to_diagnose(RUN)


rule diagnose_cells:
    input:
        data=asked_for(
            "studies",
            [
                product("covariates", dataset=name)
                for name in sorted({cell.key.dataset for cell in DIAGNOSED})
                if not is_scenario(name)
            ],
        ),
    output:
        **made_by("diagnose_cells"),
    log:
        log_of("diagnose_cells"),
    benchmark:
        benchmark_of("diagnose_cells")
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(1500),
    params:
        code=code_of("diagnose_cells"),
        cells=DIAGNOSED,
        confidence=RUN.bootstrap.confidence,
        seed=RUN.seed,
        captions=captions_of,
    message:
        "Checking how values are lost in one cell of every regime"
    script:
        "../scripts/diagnose_cells.py"


rule diagnose_eicu:
    input:
        files=asked_for("eicu", EICU_FILES),
    output:
        **made_by("diagnose_eicu"),
    log:
        log_of("diagnose_eicu"),
    benchmark:
        benchmark_of("diagnose_eicu")
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(1500),
    params:
        code=code_of("diagnose_eicu"),
        hospitals=RUN.eicu and RUN.eicu.hospitals,
        seed=RUN.seed,
        captions=captions_of,
    message:
        "Checking how the hospitals lose values"
    script:
        "../scripts/diagnose_eicu.py"


rule diagnostics:
    """Whether values are lost completely at random, and how far rates are apart."""
    input:
        # Of a run without either, the first says what it is without.
        rules.diagnose_cells.output if RUN.studies or not RUN.eicu else [],
        rules.diagnose_eicu.output if RUN.eicu else [],
