// The request of exactly this view, as curl: what the console can, the API can.
import type { ComponentChildren } from "preact";
import { address } from "../api/api";
import { scope } from "../api/meta";
import { Dialog } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import { t } from "../words/words";
import { copy } from "./views";

export interface Example {
  title: string;
  method: string;
  path: string;
  query?: URLSearchParams;
  json?: unknown;
  headers?: Record<string, string>;
}

interface Props {
  examples: Example[];
  onClose: () => void;
  /** Above the requests: the query of the view, which can be changed. */
  children?: ComponentChildren;
}

export function ApiDrawer({ examples, onClose, children }: Props) {
  return (
    <Dialog title={t("api")} onClose={onClose} side>
      {children}
      <p class="muted">{t("api.token")}</p>
      {examples.map((example) => (
        <section class="section" key={example.title}>
          <div class="row">
            <h3>{example.title}</h3>
            <span class="space" />
            <button type="button" class="plain" onClick={() => void copy(curl(example))}>
              <Icon name="copy" />
              {t("copy")}
            </button>
          </div>
          <pre dir="ltr">{curl(example)}</pre>
        </section>
      ))}
      <a href={address("/docs/index.html").href} target="_blank" rel="noopener">
        {t("api.docs")}
      </a>
    </Dialog>
  );
}

/** A single quote within a shell's single quotes: end, an escaped quote, begin again. */
const quoted = (text: string) => `'${text.replace(/'/g, "'\\''")}'`;

export function curl({ method, path, query, json, headers = {} }: Example): string {
  const all: Record<string, string> = { ...headers };
  if (scope.value) all["X-Tenant-Scope"] = scope.value.id;
  if (json !== undefined) all["Content-Type"] = "application/json";
  const parts = [`curl -s${method === "GET" ? "" : ` -X ${method}`} ${quoted(address(path, query).href)}`];
  parts.push('-H "Authorization: Bearer $TOKEN"');
  for (const [name, value] of Object.entries(all)) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (json !== undefined) parts.push(`-d ${quoted(JSON.stringify(json))}`);
  return parts.join(" \\\n  ");
}
