from bfc_bench.analysis.claims import Verdict
from bfc_bench.extras.mlflow.stored_suite import CLAIMS, note


def test_a_note_has_words_estimate_and_worst_replicate_of_a_claim():
    verdict = Verdict(
        "c", "reaches", "s", "", "supported", 1e-6, 1e-7, 1e-4, "≤ 0.01", 10, 0.01, worst=0.5, but="one is bad"
    )
    assert "| ✓ supported, but one is bad | 1.0e-6 [1.0e-7, 1.0e-4] | 0.50 |" in note("Report.", [verdict])


def test_a_note_of_many_claims_keeps_within_what_mlflow_takes():
    verdicts = [
        Verdict(f"claim-{i}".ljust(100, "-"), "beats", "s", "", "supported", 0.1, 0.05, 0.2, "≤ 0.5", 5, 0.01)
        for i in range(400)
    ]
    text = note("Report.", verdicts)
    assert len(text) < 8000
    assert text.count("| claim-") == CLAIMS
    assert f"{400 - CLAIMS} more in `tables/claims.json`" in text
