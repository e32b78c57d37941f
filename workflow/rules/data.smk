# Real data: raw files, then the covariates that experiments draw from.


rule download:
    """The raw files of all data sets."""
    input:
        [f"{RAW}/{name}.json" for name in RAW_USED],
        EICU_FILES if RUN.eicu and RUN.eicu.source == "physionet" else [],
        SEPSIS_FILES if RUN.sepsis and RUN.sepsis.source == "physionet" else [],


# Runs where Snakemake does: the nodes of a cluster seldom reach the network.
rule download_data:
    output:
        f"{RAW}/{{dataset}}.json",
    log:
        f"{RAW}/logs/{{dataset}}.log",
    benchmark:
        f"{RAW}/benchmarks/{{dataset}}.tsv"
    priority: SOON
    localrule: True
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(500),
    params:
        data_dir=data_dir_of,
    message:
        "Fetching the raw files of {wildcards.dataset}"
    script:
        "../scripts/download_data.py"


rule prepare_data:
    input:
        raw=raw_of,
    output:
        **made_by("prepare_data"),
    log:
        log_of("prepare_data"),
    benchmark:
        benchmark_of("prepare_data")
    priority: SOON
    # Seconds; and raw files lie where they were downloaded to.
    localrule: True
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(1500),
    params:
        code=code_of("prepare_data"),
        data_dir=data_dir_of,
        table=table_of,
    message:
        "Preparing data set {wildcards.dataset}"
    script:
        "../scripts/prepare_data.py"
