# Cells × models × methods: one job a block, then all records in one file.


rule run_block:
    input:
        data=data_of,
        code=code_of("run_block"),
    output:
        records=f"{RESULTS}/blocks/{{study}}/{{dataset}}-{{group}}-{{number}}.csv",
        timings=f"{RESULTS}/blocks/{{study}}/{{dataset}}-{{group}}-{{number}}.timings.csv",
    log:
        f"{RESULTS}/logs/run_block/{{study}}/{{dataset}}-{{group}}-{{number}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/run_block/{{study}}/{{dataset}}-{{group}}-{{number}}.tsv"
    # The longest first, so that no core waits for a late long one.
    priority: lambda wildcards: block_of(wildcards).seconds
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        # A second attempt, where a profile allows one, may have twice of both.
        mem_mb=lambda wildcards, attempt: 1500 * attempt,
        # Minutes, for schedulers that want a limit: ten times what is expected here, and time to start.
        runtime=lambda wildcards, attempt: (
            attempt * (10 + round(10 * block_of(wildcards).seconds / 60))
        ),
    params:
        block=block_of,
        # Snakemake keeps no account of objects, so this tells it that the block is another one.
        design=lambda wildcards: block_of(wildcards).digest,
    message:
        "Running {wildcards.study}: {wildcards.group} on {wildcards.dataset}, block {wildcards.number}"
    script:
        "../scripts/run_block.py"


rule gather_records:
    input:
        blocks=[f"{RESULTS}/blocks/{path}.csv" for path in BLOCKS],
        timings=[f"{RESULTS}/blocks/{path}.timings.csv" for path in BLOCKS],
        code=code_of("gather_records"),
    output:
        records=f"{RESULTS}/records.csv",
        failures=f"{RESULTS}/failures.csv",
        timings=f"{RESULTS}/timings.csv",
    log:
        f"{RESULTS}/logs/gather_records.log",
    benchmark:
        f"{RESULTS}/benchmarks/gather_records.tsv"
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=1500,
    params:
        blocks=list(BLOCKS.values()),
    message:
        f"Gathering the records of {len(BLOCKS)} blocks"
    script:
        "../scripts/gather_records.py"
