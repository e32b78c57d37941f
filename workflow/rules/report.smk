# Tables, figures, claims, the comparison with the paper, where it all came from, and the page that holds it.


rule write_table:
    input:
        records=rules.gather_records.output.records,
        code=code_of("write_table"),
    output:
        report(
            f"{RESULTS}/tables/{{output}}.csv",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{output}"},
        ),
        multiext(f"{RESULTS}/tables/{{output}}", tex=".tex", md=".md", html=".html"),
    log:
        f"{RESULTS}/logs/write_table/{{output}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/write_table/{{output}}.tsv"
    conda:
        "../envs/dams.yml"
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
        code=code_of("draw_figure"),
    output:
        report(
            f"{RESULTS}/figures/{{output}}.svg",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{output}"},
        ),
        multiext(f"{RESULTS}/figures/{{output}}", pdf=".pdf", png=".png"),
    log:
        f"{RESULTS}/logs/draw_figure/{{output}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/draw_figure/{{output}}.tsv"
    conda:
        "../envs/dams.yml"
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


rule check_claims:
    input:
        theory=rules.check_theory.output if RUN.theory else [],
        eicu=(
            [
                rules.run_eicu.output.scores,
                rules.run_eicu.output.summary,
                rules.run_eicu.output.cohort,
            ]
            if RUN.eicu
            else []
        ),
        records=rules.gather_records.output.records,
        paper=["dams/report/paper/claims.yaml", "dams/report/paper/table1.csv"],
        code=code_of("check_claims"),
    output:
        claims=report(
            f"{RESULTS}/claims.csv",
            caption="../report/claims.rst",
            category="Claims",
            labels={"table": "claims"},
        ),
        findings=f"{RESULTS}/findings.csv",
    log:
        f"{RESULTS}/logs/check_claims.log",
    benchmark:
        f"{RESULTS}/benchmarks/check_claims.tsv"
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=1500,
    params:
        bootstrap=RUN.bootstrap.model_dump(),
        seed=RUN.seed,
    message:
        "Checking the paper's claims"
    script:
        "../scripts/check_claims.py"


rule compare_with_paper:
    input:
        eicu=(
            [rules.run_eicu.output.scores, rules.run_eicu.output.cohort]
            if RUN.eicu
            else []
        ),
        records=rules.gather_records.output.records,
        paper=[
            f"dams/report/paper/{name}"
            for name in ("table1.csv", "eicu.csv", "errata.yaml")
        ],
        code=code_of("compare_with_paper"),
    output:
        table=report(
            f"{RESULTS}/comparison.csv",
            caption="../report/comparison.rst",
            category="Comparison",
            labels={"table": "printed numbers beside ours"},
        ),
        svg=report(
            f"{RESULTS}/figures/published_against_measured.svg",
            caption="../report/comparison.rst",
            category="Comparison",
            labels={"figure": "printed against measured"},
        ),
        others=multiext(f"{RESULTS}/figures/published_against_measured", ".pdf", ".png"),
    log:
        f"{RESULTS}/logs/compare_with_paper.log",
    benchmark:
        f"{RESULTS}/benchmarks/compare_with_paper.tsv"
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=1500,
    params:
        bootstrap=RUN.bootstrap.model_dump(),
        seed=RUN.seed,
    message:
        "Comparing with the printed numbers"
    script:
        "../scripts/compare_with_paper.py"


# All that a run leaves to be looked at, but for its provenance and its page.
PRODUCTS = [
    rules.gather_records.output,
    rules.tables.input,
    rules.figures.input,
    rules.theory.input if RUN.theory else [],
    rules.eicu.input if RUN.eicu else [],
    rules.diagnostics.input,
    rules.check_claims.output,
    rules.compare_with_paper.output,
]


rule write_provenance:
    input:
        products=PRODUCTS,
        code=code_of("write_provenance"),
    output:
        f"{RESULTS}/provenance.json",
    log:
        f"{RESULTS}/logs/write_provenance.log",
    benchmark:
        f"{RESULTS}/benchmarks/write_provenance.tsv"
    localrule: True
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=500,
    params:
        config=RUN.model_dump(mode="json"),
    message:
        "Writing down what made these results"
    script:
        "../scripts/write_provenance.py"


rule write_report:
    input:
        # The provenance comes last, so all else is there.
        provenance=rules.write_provenance.output,
        page=[f"dams/report/page/page.{suffix}" for suffix in ("html.jinja", "css", "js")],
        code=code_of("write_report"),
    output:
        f"{RESULTS}/report.html",
    log:
        f"{RESULTS}/logs/write_report.log",
    benchmark:
        f"{RESULTS}/benchmarks/write_report.tsv"
    localrule: True
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        raw=RAW,
    message:
        "Writing the report"
    script:
        "../scripts/write_report.py"


# So that a report can be made of a run that was interrupted.
onstart:
    note_start(RESULTS, RUN.model_dump(mode="json"))


onsuccess:
    from dams.report.page.closing import closing_words

    print(closing_words(RESULTS))
