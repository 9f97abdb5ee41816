// The frame of the account pages: logo and name of the tenant or the service, and sentences with parts of markup.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { address } from "../api/api";
import { type Key, t } from "../words/words";
import { page } from "./page";

interface SentenceProps {
  text: Key;
  /** What stands in the places of the text, by their names. */
  places: Record<string, ComponentChildren>;
}

export function Sentence({ text, places }: SentenceProps) {
  // the odd pieces are the names of places
  const pieces = t(text, Object.fromEntries(Object.keys(places).map((name) => [name, `{${name}}`]))).split(/\{(\w+)\}/);
  return <>{pieces.map((piece, at) => (at % 2 ? <bdi key={piece}>{places[piece]}</bdi> : piece))}</>;
}

function Logo({ source }: { source: string }) {
  const [isThere, setThere] = useState(true);
  // A picture that does not come, or is none, leaves no empty place. Its text is empty: the name stands below it.
  return isThere ? (
    <img
      class="logo"
      referrerpolicy="no-referrer"
      alt=""
      width="192"
      height="48"
      onError={() => setThere(false)}
      src={source}
    />
  ) : null;
}

/** The tenant's colours. The policy of the page allows no style in markup; scripts may set properties. */
const colours = () => (page.color ? { "--brand": page.color, "--on-brand": page.textColor ?? "" } : undefined);

export function Frame({ children }: { children: ComponentChildren }) {
  return (
    <main class="login" style={colours()}>
      <div class="card">
        {page.logo && <Logo source={page.logo} />}
        <p class="brand">
          <bdi>{page.service}</bdi>
        </p>
        {page.target && (
          <p class="to muted">
            <Sentence text="page.to" places={{ application: <b>{page.target.name}</b> }} />
          </p>
        )}
        {children}
        {page.support && (
          <p class="muted small">
            <Sentence
              text="page.questions"
              places={{ support: <a href={`mailto:${page.support}`}>{page.support}</a> }}
            />
          </p>
        )}
      </div>
    </main>
  );
}

interface LinkProps {
  /** The page, with its query. */
  to: string;
  children: ComponentChildren;
}

export const PageLink = ({ to, children }: LinkProps) => <a href={address(`account/${to}`).href}>{children}</a>;
