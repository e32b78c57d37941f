# Tables, figures, claims, the comparison with the paper, where it all came from, and the page that holds it.


rule write_table:
    input:
        records=rules.gather_records.output.records,
    output:
        **made_by("write_table"),
    log:
        log_of("write_table"),
    benchmark:
        benchmark_of("write_table")
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(1000),
    params:
        code=code_of("write_table", also=module_of),
        output=lambda wildcards: OUTPUTS[wildcards.output].as_params(),
        bootstrap=RUN.bootstrap.model_dump(),
        seed=RUN.seed,
        captions=captions_of,
    message:
        "Writing table {wildcards.output}"
    script:
        "../scripts/write_table.py"


rule draw_figure:
    input:
        records=rules.gather_records.output.records,
    output:
        **made_by("draw_figure"),
    log:
        log_of("draw_figure"),
    benchmark:
        benchmark_of("draw_figure")
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(1000),
    params:
        code=code_of("draw_figure", also=module_of),
        output=lambda wildcards: OUTPUTS[wildcards.output].as_params(),
        bootstrap=RUN.bootstrap.model_dump(),
        seed=RUN.seed,
        captions=captions_of,
    message:
        "Drawing figure {wildcards.output}"
    script:
        "../scripts/draw_figure.py"


rule tables:
    """The tables that studies ask for."""
    input:
        files_of_rule("write_table"),


rule figures:
    """The figures that studies ask for."""
    input:
        files_of_rule("draw_figure"),


rule check_claims:
    input:
        **products_in(rules.check_theory.output) if RUN.theory else {},
        **products_in(rules.run_eicu.output) if RUN.eicu else {},
        records=rules.gather_records.output.records,
        # Claims on how many rows a data set has.
        covariates=[product("covariates", dataset=name) for name in TABLES],
    output:
        **made_by("check_claims"),
    log:
        log_of("check_claims"),
    benchmark:
        benchmark_of("check_claims")
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(1500),
    params:
        code=code_of("check_claims"),
        config=RUN.behind_verdicts(),
        captions=captions_of,
    message:
        "Checking the paper's claims"
    script:
        "../scripts/check_claims.py"


rule compare_with_paper:
    input:
        **products_in(rules.run_eicu.output) if RUN.eicu else {},
        records=rules.gather_records.output.records,
    output:
        **made_by("compare_with_paper"),
    log:
        log_of("compare_with_paper"),
    benchmark:
        benchmark_of("compare_with_paper")
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(1500),
    params:
        code=code_of("compare_with_paper"),
        config=RUN.behind_verdicts(),
        captions=captions_of,
    message:
        "Comparing with the printed numbers"
    script:
        "../scripts/compare_with_paper.py"


rule write_provenance:
    input:
        products=PRODUCTS,
        covariates=[product("covariates", dataset=name) for name in TABLES],
        digests=DIGESTS,
    output:
        **made_by("write_provenance"),
    log:
        log_of("write_provenance"),
    benchmark:
        benchmark_of("write_provenance")
    localrule: True
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(500),
    params:
        code=code_of("write_provenance"),
        config=CONFIG,
    message:
        "Writing down what made these results"
    script:
        "../scripts/write_provenance.py"


rule write_report:
    input:
        # The provenance comes last, so all else is there.
        provenance=rules.write_provenance.output.provenance,
        products=PRODUCTS,
        covariates=[product("covariates", dataset=name) for name in TABLES],
        raw=[f"{RAW}/{name}.json" for name in RAW_USED],
    output:
        **made_by("write_report"),
    log:
        log_of("write_report"),
    benchmark:
        benchmark_of("write_report")
    localrule: True
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(1000),
    params:
        code=code_of("write_report"),
    message:
        "Writing the report"
    script:
        "../scripts/write_report.py"


# So that a report can be made of a run that was interrupted. To fetch raw files, which serve every run, begins none.
onstart:
    makes = (file for job in workflow.dag.needrun_jobs() for file in job.output)
    if any(f"{RESULTS}/" in file for file in makes):
        note_start(RESULTS, CONFIG)


onerror:
    if not STORAGE:
        print(
            f"\n`dams report {RESULTS}` makes a report of what there is; running again goes on from there."
        )


onsuccess:
    from dams.report.page.closing import closing_words

    print(f"Results: {STORAGE}/{RESULTS}/" if STORAGE else closing_words(RESULTS))
