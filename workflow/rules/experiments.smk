# Cells × models × methods: one job per block, then all records in one file.


rule run_block:
    input:
        data=data_of,
    output:
        **made_by("run_block"),
    log:
        log_of("run_block"),
    benchmark:
        benchmark_of("run_block")
    # The longest first, so that no core waits for a late long one.
    priority: lambda wildcards: block_of(wildcards).seconds
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(1500),
        # Minutes, for schedulers that want a limit: ten times what is expected here, and time to start.
        runtime=lambda wildcards, attempt: (
            attempt * (10 + round(10 * block_of(wildcards).seconds / 60))
        ),
    params:
        code=code_of("run_block"),
        block=block_of,
        # Snakemake keeps no account of objects, so this tells it that the block is another one.
        design=lambda wildcards: block_of(wildcards).digest,
    message:
        "Running {wildcards.study}: {wildcards.group} on {wildcards.dataset}, block {wildcards.number}"
    script:
        "../scripts/run_block.py"


rule gather_records:
    input:
        blocks=[product("block_records", **b.wildcards) for b in BLOCKS.values()],
        timings=[product("block_timings", **b.wildcards) for b in BLOCKS.values()],
        digests=[
            digests_made_by("run_block").format(**b.wildcards) for b in BLOCKS.values()
        ],
    output:
        **made_by("gather_records"),
    log:
        log_of("gather_records"),
    benchmark:
        benchmark_of("gather_records")
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(1500),
    params:
        code=code_of("gather_records"),
        blocks=list(BLOCKS.values()),
    message:
        f"Gathering the records of {len(BLOCKS)} blocks"
    script:
        "../scripts/gather_records.py"
