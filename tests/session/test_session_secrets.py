"""Secrets are masked by the look of a name or of a value; a likeness is not enough."""

from __future__ import annotations

import pytest

from mgtop.session.secrets import MASK, is_secret_name, mask, mask_command, mask_text


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "GITHUB_TOKEN", "TOKEN", "token", "WANDB_API_KEY",
        "OPENAI_API_KEY", "apiKey", "accessToken", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
        "DB_PASSWORD", "PGPASSWORD_FILE_PASSWORD", "MYSQL_PWD", "passphrase", "client_secret",
        "GOOGLE_APPLICATION_CREDENTIALS", "--api-key", "--hf-token", "model.api_key",
        "Authorization", "COOKIE", "SENTRY_DSN", "KEY", "SSH_KEY_BASE64",
    ],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "max_tokens", "--max-new-tokens", "num_tokens", "n_tokens", "eos_token", "pad_token_id",
        "context_tokens", "tokenizer", "keyframe", "keyboard", "monkey", "PWD", "PATH", "steps",
        "SSH_AUTH_SOCK", "primary_key", "PYTORCH_ALLOC_CONF", "compass", "author", "turkey", "",
    ],
)  # fmt: skip
def test_names_of_other_things(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "value",
    [
        "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345",
        "sk-proj-abcdefghijklmnop1234",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "github_pat_11ABCDEFG0abcdefghijkl",
        "glpat-abcdefghijklmnopqrst",
        "xoxb-123456789012-abcdef",
        "AKIAIOSFODNN7EXAMPLE",
        "nvapi-abcdefghijklmnopqrstuvwx",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    ],
)
def test_values_that_are_tokens_under_any_name(value: str) -> None:
    assert mask({"x": value}) == {"x": MASK}
    assert mask_text(f"--auth={value} rest") == f"--auth={MASK} rest"


@pytest.mark.parametrize(
    "value", ["sk-2", "hf_hub", "task-abcdefghijklmnopqrs", "1280x720", "expandable_segments:True"]
)
def test_values_that_are_none(value: str) -> None:
    assert mask({"x": value}) == {"x": value}


def test_logins_in_urls() -> None:
    assert mask_text("http://me:pw@host/x?y") == f"http://{MASK}@host/x?y"
    assert mask_text("http://:pw@host") == f"http://{MASK}@host"
    assert mask_text("http://host:80/a@b") == "http://host:80/a@b"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgres://u:p@ss@h/db", "postgres://***@h/db"),
        ("https://abcdefghijklmnopqrstuvwx@github.com/x", "https://***@github.com/x"),
        ("ssh://git@github.com/x", "ssh://git@github.com/x"),
        ("GET https://h/w?a=1&token=abc&b=2", "GET https://h/w?a=1&token=***&b=2"),
        ("https://s3/x?X-Amz-Signature=ab1&y=3", "https://s3/x?X-Amz-Signature=***&y=3"),
        ("-H 'Authorization: Bearer abc.def'", "-H 'Authorization: Bearer ***'"),
        ("authorization=Basic dXNlcjpwdw==", "authorization=Basic ***"),
        ("got bearer abcdefgh12 back", "got bearer *** back"),
        ("Cookie: a=1; session=xyz", "Cookie: ***"),
        ("X-Api-Key: abcdef", "X-Api-Key: ***"),
        ("HF_TOKEN=abc; x.py --token def -n 4", "HF_TOKEN=***; x.py --token *** -n 4"),
        ('{"password": "hunter2", "steps": 4}', '{"password": "***", "steps": 4}'),
    ],
)  # fmt: skip
def test_secrets_inside_of_a_text(text: str, masked: str) -> None:
    assert mask_text(text) == masked
    assert mask_text(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "KeyError: 'decoder.weight'", "Missing key(s) in state_dict: a.weight", "token: 5",
        "max_tokens=4096 eos_token: </s>", "key: value", "bearer of news", "token = 17",
        "kwargs['token'] == 'video'", "http://host:80/a@b", "user@host: no such file",
        "tokens: 1,024", "password: ", "TOKEN=$HF_TOKEN", "--token {token}",
    ],
)  # fmt: skip
def test_texts_that_hold_none(text: str) -> None:
    assert mask_text(text) == text


def test_at_any_depth() -> None:
    values = {
        "env": {"HF_TOKEN": "hf_x", "STEPS": "4"},
        "params": {"api_key": "abc", "max_tokens": 5, "token": None, "secret": True},
        "credentials": {"user": "me", "list": ["a", "b"], "n": 3},
        "smoke": {"command": ["python", "x.py", "--token", "abc", "--steps", "4"]},
        "frames": {"hooks": [{"target": "a:b", "count": "n"}]},
        "empty": {"PASSWORD": ""},
    }
    assert mask(values) == {
        "env": {"HF_TOKEN": MASK, "STEPS": "4"},
        "params": {"api_key": MASK, "max_tokens": 5, "token": None, "secret": True},
        "credentials": {"user": MASK, "list": [MASK, MASK], "n": 3},
        "smoke": {"command": ["python", "x.py", "--token", MASK, "--steps", "4"]},
        "frames": {"hooks": [{"target": "a:b", "count": "n"}]},
        "empty": {"PASSWORD": ""},
    }
    assert values["env"] == {"HF_TOKEN": "hf_x", "STEPS": "4"}  # a copy was masked


def test_commands() -> None:
    command = [
        "python", "infer.py", "--token", "abc", "--api-key=def", "api_key=ghi", "--token",
        "--steps", "4", "--hf-token", "{hf_token}", "--password=", "--url", "https://u:p@h/",
    ]  # fmt: skip
    assert mask_command(command) == [
        "python", "infer.py", "--token", MASK, f"--api-key={MASK}", f"api_key={MASK}", "--token",
        "--steps", "4", "--hf-token", "{hf_token}", "--password=", "--url", f"https://{MASK}@h/",
    ]  # fmt: skip
