# Real data, prepared once as the covariates that experiments draw from.


rule prepare_data:
    input:
        code=code("dams/datasets"),
    output:
        f"{RESULTS}/data/{{dataset}}.npz",
    log:
        f"{RESULTS}/logs/prepare_data/{{dataset}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/prepare_data/{{dataset}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1500,
    message:
        "Preparing data set {wildcards.dataset}"
    script:
        "../scripts/prepare_data.py"
