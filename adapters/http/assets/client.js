// A client of this service for pages in a browser. All tabs share one login, and one of them refreshes its token.
// The types are in client.d.ts, the examples in docs/browsers.md.

const OF_TOKENS = ["TOKEN_EXPIRED", "TOKEN_INVALID", "UNAUTHORIZED"];
const OTHER_TABS_MS = 100;

/** What errorsOf returns, as an exception. */
export class ServiceError extends Error {
  constructor(errors) {
    super(errors.message);
    Object.assign(this, errors, { name: "ServiceError" });
  }
}

/** The errors of an answer in one form, whichever of the two envelopes it has; null if the answer is a success. */
export async function errorsOf(answer) {
  if (answer.ok) return null;
  // a proxy in front of the service may answer something else than JSON
  const body = (await answer.clone().json().catch(() => null)) ?? {};
  const row = body.error ?? {};
  return {
    status: answer.status,
    code: row.code ?? body.errorCode ?? `HTTP_${answer.status}`,
    message: row.message ?? body.errorMessage ?? `The answer has the status ${answer.status}.`,
    fields: row.details ?? body.errors ?? [],
    mfa: body.mfa ?? null,
    retryAfter: Number(answer.headers.get("Retry-After")) || null,
    requestId: answer.headers.get("X-Request-Id"),
  };
}

export function makeClient(base = "", { remember = false, onChange = () => {} } = {}) {
  const name = `tenantry ${base}`;
  const tabs = new BroadcastChannel(name);
  const echo = new BroadcastChannel(name); // receives what this tab sends
  let tokens = null;
  let since = 0; // the time of `tokens`: a message that arrives late does not replace newer ones
  let queue = Promise.resolve();

  tabs.onmessage = ({ data }) => {
    if (data !== "ask") take(data);
    else if (tokens) tabs.postMessage({ tokens, since, isRefresh: false });
  };

  function take(message) {
    if (message.since <= since) return;
    const isChange = !tokens || !message.isRefresh;
    ({ tokens, since } = message);
    if (isChange) onChange(tokens !== null);
  }

  /** Stores tokens in every tab; null ends the login. */
  function share(given, isRefresh = false) {
    if (remember && given) localStorage.setItem(name, given.refreshToken);
    if (remember && !given) localStorage.removeItem(name);
    const message = { tokens: given, since: Math.max(Date.now(), since + 1), isRefresh };
    tabs.postMessage(message);
    take(message);
    return given;
  }

  /** Ends when the message of the newest tokens has been sent to every tab. */
  function shared(sent = since) {
    return new Promise((done) => {
      echo.onmessage = ({ data }) => data.since === sent && done();
    });
  }

  /** Runs one `work` after the other: in all tabs, or in this one where a page without TLS has no locks. */
  function locked(work) {
    if (navigator.locks) return navigator.locks.request(name, work);
    queue = queue.then(work, work);
    return queue;
  }

  async function dataOf(answer) {
    const errors = await errorsOf(answer);
    if (errors) throw new ServiceError(errors);
    return answer.status === 204 ? undefined : (await answer.json()).data;
  }

  const asJson = (body) => ({
    method: "POST",
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json" },
  });

  const post = async (path, body) => dataOf(await fetch(base + path, asJson(body)));

  async function login(email, password, more = {}) {
    return signIn("/api/auth/login", { email, password, ...more });
  }

  /** Logs in by any operation that answers tokens, such as /api/auth/mfa/verify. */
  async function signIn(path, body) {
    return share(await post(path, body));
  }

  async function chooseTenant(tenantId) {
    return share(await data("/api/auth/switch-tenant", { body: { tenantId } }));
  }

  async function logout() {
    try {
      await data("/api/auth/logout", { method: "POST" });
    } finally {
      share(null);
    }
  }

  /** Gets new tokens, unless another request or tab has replaced those that were `used`. */
  async function refresh(used = tokens) {
    await locked(async () => {
      if (tokens !== used) return;
      const refreshToken = (remember && localStorage.getItem(name)) || used?.refreshToken;
      try {
        share(await post("/api/auth/refresh", { refreshToken }), true);
        await shared(); // before the next tab gets the lock: it then knows that it need not refresh
      } catch (error) {
        if (error.status === 401) share(null);
        throw error;
      }
    });
  }

  /** Whether there is a login: that of another tab, or the one that `remember` has stored. */
  async function restore() {
    if (tokens || (remember && !localStorage.getItem(name))) return tokens !== null;
    tabs.postMessage("ask");
    await new Promise((done) => setTimeout(done, OTHER_TABS_MS));
    if (!tokens && remember) {
      try {
        await refresh();
      } catch (error) {
        if (error.status !== 401) throw error;
      }
    }
    return tokens !== null;
  }

  /** Sends with the token, and once more with a new one where the service refuses the token. */
  async function withToken(headers, send) {
    const used = tokens;
    const answer = await send(authorized(headers));
    if (!used || answer.status !== 401 || !OF_TOKENS.includes((await errorsOf(answer)).code)) return answer;
    await refresh(used);
    return send(authorized(headers));
  }

  function authorized(given) {
    const headers = new Headers(given);
    if (tokens) headers.set("Authorization", `Bearer ${tokens.token}`);
    return headers;
  }

  /** As fetch, with the token of the login. */
  async function call(path, options = {}) {
    return withToken(options.headers, (headers) => fetch(base + path, { ...options, headers }));
  }

  /** Sends `body` as JSON, and returns the `data` of the answer. Throws ServiceError. */
  async function data(path, { body, ...options } = {}) {
    if (body === undefined) return dataOf(await call(path, options));
    const json = asJson(body);
    return dataOf(await call(path, { ...json, ...options, headers: { ...json.headers, ...options.headers } }));
  }

  /** Sends a file to an import, and returns its report. Throws ServiceError. */
  async function upload(path, file, { options, headers, onProgress = () => {}, signal } = {}) {
    const form = new FormData();
    form.append("file", file);
    if (options) form.append("options", JSON.stringify(options));
    return dataOf(await withToken(headers, (all) => sendForm(base + path, form, all, onProgress, signal)));
  }

  return { login, signIn, chooseTenant, refresh: () => refresh(), restore, logout, call, data, upload };
}

/** A POST that reports its progress, which fetch does not. */
function sendForm(url, form, headers, onProgress, signal) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const request = new XMLHttpRequest();
    request.open("POST", url);
    headers.forEach((value, key) => request.setRequestHeader(key, value));
    request.upload.onprogress = (event) => onProgress(event.loaded, event.total);
    request.onload = () => {
      const lines = request.getAllResponseHeaders().split("\r\n").filter(Boolean);
      const answered = lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]);
      resolve(new Response(request.responseText || null, { status: request.status, headers: answered }));
    };
    request.onerror = () => reject(new TypeError("The upload failed: the service was not reached."));
    request.onabort = () => reject(signal.reason);
    signal?.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}
