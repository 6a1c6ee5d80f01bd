"""Random damage to documents in XML, as a broken proxy, a bug or an enemy does it."""
import re


def damage_xml(rng, body):
    """Bytes that are not `body`, mostly still like it."""
    damaged = body
    while damaged == body:
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            damaged = KINDS[rng.randrange(len(KINDS))](rng, damaged)
    return damaged


def cut(rng, body):
    return body[:rng.randrange(len(body) + 1)]


def drop(rng, body):
    first = rng.randrange(len(body) + 1)
    return body[:first] + body[first + rng.choice([1, 1, 5, 40]):]


def flip(rng, body):
    if not body:
        return b"<"
    at = rng.randrange(len(body))
    return body[:at] + bytes([body[at] ^ (1 << rng.randrange(8))]) + body[at + 1:]


def insert(rng, body):
    what = rng.choice([b"<", b"</", b">", b"&", b"&lt;", b"&#0;", b"&#x1F;", b"]]>", b"<!--", b"<![CDATA[", b"<?x?>", b"\0", b"\xff\xfe", b"<Error>",
                       b"<Code>InternalError</Code>", b"<a>" * 30, b"x" * 70000, b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]>"])
    at = rng.randrange(len(body) + 1)
    return body[:at] + what + body[at:]


def rename(rng, body):
    """An element has another name, or another element's."""
    names = sorted(set(re.findall(rb"</?([A-Za-z]+)", body)))
    if not names:
        return b""
    return body.replace(rng.choice(names), rng.choice([*names, b"Other", b"error", b""]))


def replace(rng, body):
    return rng.choice([b"", b"{}", b"<html><body>Sign in</body></html>", b"<Error/>", b"<Error><Code></Code></Error>", b"<?xml version='1.0'?>",
                       b"<ListBucketResult/>", b"<CompleteMultipartUploadResult/>", b"<CopyPartResult><ETag></ETag></CopyPartResult>",
                       b"<InitiateMultipartUploadResult><UploadId>../..</UploadId></InitiateMultipartUploadResult>"])


def repeat(rng, body):
    first, last = sorted((rng.randrange(len(body) + 1), rng.randrange(len(body) + 1)))
    return body[:last] + body[first:]


KINDS = [cut, drop, flip, flip, insert, rename, replace, repeat]
