"""HTTPS accepts the certificates that the system trusts."""

import datetime
import ssl
import subprocess
import sys

import pytest
from tests.io.storage.server import Server

x509 = pytest.importorskip("cryptography.x509")


def certificate(name, issuer=None):
    """Returns a key and its certificate: for a server if there is an issuer, else an authority."""
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, name)])
    signing, signer = (key, subject) if issuer is None else (issuer[0], issuer[1].subject)
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    builder = (
        x509.CertificateBuilder(signer, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.BasicConstraints(issuer is None, None), critical=True)
    )
    if issuer is not None:
        names = x509.SubjectAlternativeName([x509.DNSName(name)])
        builder = builder.add_extension(names, critical=False)
    return key, builder.sign(signing, hashes.SHA256())


def pem(key, signed):
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return private + signed.public_bytes(serialization.Encoding.PEM)


@pytest.mark.parametrize("is_trusted", [True, False])
def test_https_server_is_read_if_its_certificate_is_trusted(tmp_path, monkeypatch, is_trusted):
    authority = certificate("authority")
    (tmp_path / "server.pem").write_bytes(pem(*certificate("localhost", authority)))
    trusted = authority if is_trusted else certificate("another authority")
    (tmp_path / "trusted.pem").write_bytes(pem(*trusted))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "trusted.pem"))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    monkeypatch.setenv("HEADRACE_STORAGE_RETRIES", "0")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    server = Server()
    server.files["a"] = b"one\ntwo\n"
    server.encrypt(context)
    with server:
        url = f"https://localhost:{server.address.rpartition(':')[2]}/a"
        # Trusted certificates are read once per process.
        program = f"import headrace as hr; print(len(list(hr.text_lines({url!r}))))"
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=False
        )
    if is_trusted:
        assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
    else:
        assert "invalid peer certificate: UnknownIssuer" in done.stderr
