# What to do when: every method under mechanisms of loss and shift that are known. One job per data set and draw.


rule run_beyond:
    input:
        table=beyond_table,
    output:
        **made_by("run_beyond"),
    log:
        log_of("run_beyond"),
    benchmark:
        benchmark_of("run_beyond")
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(1500),
    params:
        code=code_of("run_beyond"),
        settings=RUN.beyond and RUN.beyond.model_dump(exclude={"datasets", "draws"}),
        seed=RUN.seed,
    message:
        "Comparing methods under known mechanisms: {wildcards.dataset}, draw {wildcards.number}"
    script:
        "../scripts/run_beyond.py"


rule gather_beyond:
    input:
        scores=asked_for("beyond", files_of_product("beyond_draw_scores")),
        checks=asked_for("beyond", files_of_product("beyond_draw_checks")),
    output:
        **made_by("gather_beyond"),
    log:
        log_of("gather_beyond"),
    benchmark:
        benchmark_of("gather_beyond")
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(1000),
    params:
        code=code_of("gather_beyond"),
        bootstrap=RUN.bootstrap.model_dump(),
        seed=RUN.seed,
    message:
        "Gathering what was measured under known mechanisms"
    script:
        "../scripts/gather_beyond.py"


rule report_beyond:
    input:
        **products_in(rules.gather_beyond.output),
    output:
        **made_by("report_beyond"),
    log:
        log_of("report_beyond"),
    benchmark:
        benchmark_of("report_beyond")
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(1000),
    params:
        code=code_of("report_beyond"),
        captions=captions_of,
    message:
        "Writing the table and figure of what to do when"
    script:
        "../scripts/report_beyond.py"


rule beyond:
    """The study of what to do when."""
    input:
        rules.gather_beyond.output,
        rules.report_beyond.output,
