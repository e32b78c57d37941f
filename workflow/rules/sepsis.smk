# Two hospital systems with known losses: open data, downloaded or a copy that is there already.


rule download_sepsis:
    output:
        f"{SEPSIS_FOLDER}/downloaded.json",
    log:
        f"{SEPSIS_FOLDER}/logs/download_sepsis.log",
    benchmark:
        f"{SEPSIS_FOLDER}/logs/download_sepsis.tsv"
    localrule: True
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(500),
    message:
        "Downloading the Challenge 2019 data from PhysioNet"
    script:
        "../scripts/download_sepsis.py"


rule mask_sepsis:
    input:
        files=asked_for("sepsis", SEPSIS_FILES),
    output:
        **made_by("mask_sepsis"),
    log:
        log_of("mask_sepsis"),
    benchmark:
        benchmark_of("mask_sepsis")
    priority: SOON
    conda:
        "../envs/dams.yml"
    threads: 2
    resources:
        mem_mb=memory(2000),
    params:
        code=code_of("mask_sepsis"),
        folder=SEPSIS_FOLDER,
        splits=RUN.sepsis and RUN.sepsis.splits,
        bootstrap=RUN.bootstrap.model_dump(),
        seed=RUN.seed,
        captions=captions_of,
    message:
        "Giving patients of one hospital the recording patterns of the other"
    script:
        "../scripts/mask_sepsis.py"


rule run_sepsis:
    input:
        files=asked_for("sepsis", SEPSIS_FILES),
    output:
        **made_by("run_sepsis"),
    log:
        log_of("run_sepsis"),
    benchmark:
        benchmark_of("run_sepsis")
    priority: SOON
    conda:
        "../envs/dams.yml"
    # One for each direction.
    threads: 2
    resources:
        mem_mb=memory(2000),
    params:
        code=code_of("run_sepsis"),
        folder=SEPSIS_FOLDER,
        bootstrap=RUN.bootstrap.model_dump(),
        seed=RUN.seed,
        captions=captions_of,
    message:
        "Predicting sepsis in one hospital from the other"
    script:
        "../scripts/run_sepsis.py"


rule report_sepsis:
    input:
        **products_in(rules.run_sepsis.output),
        **products_in(rules.mask_sepsis.output),
    output:
        **made_by("report_sepsis"),
    log:
        log_of("report_sepsis"),
    benchmark:
        benchmark_of("report_sepsis")
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(1000),
    params:
        code=code_of("report_sepsis"),
        captions=captions_of,
    message:
        "Writing tables and figures of the two hospitals"
    script:
        "../scripts/report_sepsis.py"


rule sepsis:
    """The study of two hospitals."""
    input:
        rules.run_sepsis.output,
        rules.mask_sepsis.output,
        rules.report_sepsis.output,
