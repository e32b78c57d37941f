# Tables, figures and where they came from.


rule write_table:
    input:
        records=rules.gather_records.output.records,
        code=code("dams/report"),
    output:
        multiext(f"{RESULTS}/tables/{{output}}", csv=".csv", tex=".tex", md=".md"),
    log:
        f"{RESULTS}/logs/write_table/{{output}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/write_table/{{output}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        made=lambda wildcards: OUTPUTS[wildcards.output],
        bootstrap=RUN.bootstrap.model_dump(),
        seed=RUN.seed,
    message:
        "Writing table {wildcards.output}"
    script:
        "../scripts/write_table.py"


rule draw_figure:
    input:
        records=rules.gather_records.output.records,
        code=code("dams/report"),
    output:
        multiext(f"{RESULTS}/figures/{{output}}", svg=".svg", pdf=".pdf", png=".png"),
    log:
        f"{RESULTS}/logs/draw_figure/{{output}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/draw_figure/{{output}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        made=lambda wildcards: OUTPUTS[wildcards.output],
        bootstrap=RUN.bootstrap.model_dump(),
        seed=RUN.seed,
    message:
        "Drawing figure {wildcards.output}"
    script:
        "../scripts/draw_figure.py"


rule tables:
    input:
        expand(
            f"{RESULTS}/tables/{{output}}.{{format}}",
            output=[n for n, o in OUTPUTS.items() if o["kind"] == "table"],
            format=TABLE_FORMATS,
        ),


rule figures:
    input:
        expand(
            f"{RESULTS}/figures/{{output}}.{{format}}",
            output=[n for n, o in OUTPUTS.items() if o["kind"] == "figure"],
            format=FIGURE_FORMATS,
        ),


rule write_provenance:
    input:
        rules.tables.input,
        rules.figures.input,
        timings=rules.gather_records.output.timings,
    output:
        f"{RESULTS}/provenance.json",
    log:
        f"{RESULTS}/logs/write_provenance.log",
    benchmark:
        f"{RESULTS}/benchmarks/write_provenance.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
    params:
        config=RUN.model_dump(mode="json"),
        benchmarks=f"{RESULTS}/benchmarks",
    message:
        "Writing down what made these results"
    script:
        "../scripts/write_provenance.py"


onsuccess:
    from dams.report.closing import closing_words

    print(closing_words(RESULTS))
