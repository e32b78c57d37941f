# Every statement of the paper, checked, and the figures that show them.


rule check_theory:
    input:
        code=code_of("check_theory"),
    output:
        f"{RESULTS}/theory/theory.csv",
    log:
        f"{RESULTS}/logs/check_theory.log",
    benchmark:
        f"{RESULTS}/benchmarks/check_theory.tsv"
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        seed=RUN.seed,
    message:
        "Checking every statement of the paper"
    script:
        "../scripts/check_theory.py"


rule draw_theory:
    input:
        code=code_of("draw_theory"),
    output:
        [
            f"{RESULTS}/theory/{figure}.{suffix}"
            for figure in THEORY_FIGURES
            for suffix in FIGURE_FORMATS
        ],
    log:
        f"{RESULTS}/logs/draw_theory.log",
    benchmark:
        f"{RESULTS}/benchmarks/draw_theory.tsv"
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        seed=RUN.seed,
    message:
        "Drawing the figures of the theory"
    script:
        "../scripts/draw_theory.py"


rule theory:
    input:
        rules.check_theory.output,
        rules.draw_theory.output,
