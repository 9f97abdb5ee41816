// A password as a JWE (RFC 7516), to a key of https://<service>/.well-known/jwks.json whose alg is RSA-OAEP-256.
async function encryptPassword(password, jwk) {
  const bytes = (text) => new TextEncoder().encode(text);
  const base64url = (data) => btoa(String.fromCharCode(...new Uint8Array(data))).replace(/[+]/g, "-").replace(/[/]/g, "_").replace(/=/g, "");
  const header = base64url(bytes(JSON.stringify({ alg: "RSA-OAEP-256", enc: "A256GCM", kid: jwk.kid })));
  const said = JSON.stringify({ password, iat: Math.floor(Date.now() / 1000), jti: crypto.randomUUID() });
  const theirs = await crypto.subtle.importKey("jwk", jwk, { name: "RSA-OAEP", hash: "SHA-256" }, false, ["wrapKey"]);
  const once = await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, true, ["encrypt"]);
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData: bytes(header) }, once, bytes(said));
  const wrapped = await crypto.subtle.wrapKey("raw", once, theirs, { name: "RSA-OAEP" });
  return [header, ...[wrapped, iv, sealed.slice(0, -16), sealed.slice(-16)].map(base64url)].join(".");
}
