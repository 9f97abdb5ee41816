// What the service says of the page that it serves, in the attribute `data-page` of the body.
import type { TokenResult } from "../session/tokens";

export interface Target {
  app: string;
  redirect: string;
  challenge: string;
  state: string | null;
  /** The application's name. */
  name: string;
}

/** What a login that began at a provider came to: a result, or the body of an error. */
export type Outcome = { data: TokenResult } | Record<string, unknown>;

interface Page {
  name: "login" | "register" | "security" | "confirm" | "reset" | "invitation";
  /** The name of the service, or of the tenant that the application is for. */
  service: string;
  /** The application that gets the login; null where the login ends in this browser. */
  target: Target | null;
  /** The query that names the application, for links to other pages. */
  query: string;
  /** The path at which a login without an application ends. */
  endsAt: string;
  /** Whether people make accounts by themselves. */
  isOpen: boolean;
  providers: { name: string; title: string }[];
  logo: string | null;
  color: string | null;
  textColor: string | null;
  support: string | null;
  outcome: Outcome | null;
}

/** The service leaves out what a page has not. */
export const page = {
  target: null,
  query: "",
  endsAt: "",
  isOpen: false,
  providers: [],
  logo: null,
  color: null,
  textColor: null,
  support: null,
  outcome: null,
  ...JSON.parse(document.body.dataset.page ?? "{}"),
} as Page;
