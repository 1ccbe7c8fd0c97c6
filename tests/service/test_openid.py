"""Sign-in by OpenID Connect, against a provider that these tests start; what is wrong of it is refused."""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from fastapi import FastAPI, Request
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from starlette.responses import JSONResponse, RedirectResponse

from discreet.service.api.app import build
from discreet.service.settings import load
from discreet.service.state.people import add_person
from discreet.service.state.store import StateStore

KEY, STRANGER = (RSAKey.generate_key(2048, {"kid": kid}) for kid in ("one", "one"))


def provider(lies):
    """A provider that signs in ada; `lies` changes what its tokens say."""
    app, codes = FastAPI(), {}

    @app.get("/.well-known/openid-configuration")
    def about(request: Request):
        home = str(request.base_url).rstrip("/")
        issuer = lies.get("issuer_said", home)
        ends = {f"{name}_endpoint": f"{home}/{name}" for name in ("authorization", "token")}
        return {"issuer": issuer, "jwks_uri": f"{home}/keys", **ends}

    @app.get("/keys")
    def keys():
        return {"keys": [KEY.as_dict(private=False)]}

    @app.get("/authorization")
    def authorize(request: Request):
        asked = request.query_params
        assert asked["code_challenge_method"] == "S256"
        codes["code"] = dict(asked)
        return RedirectResponse(f"{asked['redirect_uri']}?code=code&state={asked['state']}", 303)

    @app.post("/token")
    async def token(request: Request):
        form = parse_qs((await request.body()).decode())
        asked, now = codes.pop("code"), int(time.time())
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"][0].encode()).digest())
        if challenge.rstrip(b"=").decode() != asked["code_challenge"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        claims = {
            "iss": str(request.base_url).rstrip("/"), "aud": "discreet", "sub": "1", "iat": now,
            "exp": now + 60, "nonce": asked["nonce"], "email": "ada@example.org", "email_verified": True,
        }  # fmt: skip
        claims |= {name: value for name, value in lies.items() if name in claims}
        key = lies.get("key", KEY)
        signed = jwt.encode({"alg": lies.get("alg", "RS256"), "kid": "one"}, claims, key)
        return {"access_token": "x", "token_type": "Bearer", "id_token": signed}

    return app


@pytest.fixture(scope="module")
def lies():
    return {}


@pytest.fixture(scope="module")
def at(tmp_path_factory, lies, fill, serve, port):
    """A service that signs people in at a provider: its address."""
    folder = tmp_path_factory.mktemp("openid")
    settings, _ = fill(folder)
    state = StateStore(settings.state)
    add_person(state, "ada@example.org")
    state.close()
    with serve(provider(lies)) as issuer:
        (folder / "kept" / "secret").write_text("hush\n")
        back = f"http://127.0.0.1:{port}/v1/session/openid/callback"
        said = (
            f'[openid]\nissuer = "{issuer}"\nclient_id = "discreet"\nsecret = "secret"\nredirect = "{back}"\n'
        )
        (folder / "kept" / "service.toml").write_text(said)
        with serve(build(load(folder / "kept")), port) as url:
            yield url


def sign_in(at, browser):
    """Walk as a browser would, up to where the service has answered the provider's redirect."""
    found = browser.get(f"{at}/v1/session/openid")
    while found.status_code == 303 and "/callback" not in str(found.request.url):
        found = browser.get(found.headers["location"])
    return found


def test_somebody_whom_an_owner_entered_signs_in(at, lies):
    lies.clear()
    with httpx.Client(timeout=60) as browser:
        assert browser.get(f"{at}/v1/session/methods").json() == ["token", "openid"]
        back = sign_in(at, browser)
        assert (back.status_code, back.headers["location"]) == (303, "/")
        assert browser.get(f"{at}/v1/session").json()["name"] == "ada@example.org"
        assert browser.get(str(back.request.url)).status_code == 401  # the same code and state, once more


@pytest.mark.parametrize(
    "lie",
    [
        {"key": STRANGER},
        {"iss": "https://other.example.org"},
        {"aud": "another-service"},
        {"exp": 1},
        {"nonce": "another"},
        {"email": "eve@example.org"},
        {"email": None},
        {"email_verified": False},
        {"email_verified": "true"},
        {"alg": "HS256", "key": OctKey.import_key(b"k" * 32)},  # signed by what anybody could know
    ],
    ids="-".join,
)
def test_what_a_provider_did_not_vouch_for_is_refused(at, lies, lie):
    lies.clear()
    lies.update(lie)
    with httpx.Client(timeout=60) as browser:
        refused = sign_in(at, browser)
        assert refused.status_code == 401, refused.text
        assert refused.json()["title"] == "Not signed in"
        assert browser.get(f"{at}/v1/session").status_code == 401
    lies.clear()


def test_another_browser_or_state_cannot_finish_a_sign_in(at, lies):
    lies.clear()
    with httpx.Client(timeout=60) as browser, httpx.Client(timeout=60) as other:
        begun = browser.get(f"{at}/v1/session/openid")
        returned = browser.get(begun.headers["location"]).headers["location"]
        assert other.get(returned).status_code == 401  # which would sign the other in as ada
        state = parse_qs(urlsplit(returned).query)["state"][0]
        assert browser.get(returned.replace(state, "x" * 43)).status_code == 401
        assert browser.get(returned).status_code == 303


def test_a_provider_that_is_another_issuer_is_not_believed(at, lies):
    lies.clear()
    lies["issuer_said"] = "https://other.example.org"
    with httpx.Client(timeout=60) as browser:
        assert browser.get(f"{at}/v1/session/openid").status_code == 503
    lies.clear()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium here")
def test_a_browser_signs_in_on_the_page(at, lies):
    """The whole walk in Chromium: page, provider, callback, page; the cookie is out of reach of scripts."""
    lies.clear()
    script = Path(__file__).parent / "browser" / "by_openid.py"
    done = subprocess.run([sys.executable, script, at], capture_output=True, text=True, check=True)  # noqa: S603
    found = json.loads(done.stdout)
    assert "ada@example.org" in found["top"]
    assert any(url.endswith("/authorization") for url in found["seen"])
    assert not [words for words in found["said"] if "Policy" in words or "Uncaught" in words]
    (session,) = [cookie for cookie in found["cookies"] if cookie["name"] == "discreet_session"]
    assert session["httpOnly"]
    assert session["sameSite"] in {"Lax", "Strict"}


def test_without_settings_there_is_no_such_sign_in(call):
    assert call("", "GET", "/v1/session/methods").json() == ["token"]
    assert call("", "GET", "/v1/session/openid").status_code == 404
