// Things are made once, however often they are sent: a lost answer is asked for again by the same key.

/** The `Idempotency-Key` of what a form makes: the same one until there is an answer, or until something else is sent. */
export class Once {
  #what = "";
  #key = "";

  headers(what: string): Record<string, string> {
    if (!this.#key || what !== this.#what) {
      this.#what = what;
      // not randomUUID, which pages without TLS do not have
      this.#key = [...crypto.getRandomValues(new Uint8Array(16))]
        .map((byte) => byte.toString(16).padStart(2, "0"))
        .join("");
    }
    return { "Idempotency-Key": this.#key };
  }

  answered(): void {
    this.#key = "";
  }
}
