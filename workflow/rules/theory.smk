# Every statement of the paper, checked, and the figures that show them.


rule check_theory:
    output:
        **made_by("check_theory"),
    log:
        log_of("check_theory"),
    benchmark:
        benchmark_of("check_theory")
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(1000),
    params:
        code=code_of("check_theory"),
        seed=RUN.seed,
        captions=captions_of,
    message:
        "Checking every statement of the paper"
    script:
        "../scripts/check_theory.py"


rule draw_theory:
    output:
        **made_by("draw_theory"),
    log:
        log_of("draw_theory"),
    benchmark:
        benchmark_of("draw_theory")
    conda:
        "../envs/dams.yml"
    threads: 1
    resources:
        mem_mb=memory(1000),
    params:
        code=code_of("draw_theory"),
        seed=RUN.seed,
        captions=captions_of,
    message:
        "Drawing the figures of the theory"
    script:
        "../scripts/draw_theory.py"


rule theory:
    """All statements of the paper, checked and drawn."""
    input:
        rules.check_theory.output,
        rules.draw_theory.output,
