// Types of client.js. Answers of other operations have the types that a generator makes of the OpenAPI document.

export interface FieldError {
  field: string;
  message: string;
  /** The row of an imported file, and the errors of its fields. */
  row?: number;
  details?: FieldError[];
}

export interface Errors {
  status: number;
  /** A code of docs/reference/error-codes.md, or HTTP_502 and the like for an answer that is not the service's. */
  code: string;
  message: string;
  fields: FieldError[];
  /** With MFA_REQUIRED and MFA_ENROLMENT_REQUIRED: the ticket that finishes the login. */
  mfa: { ticket: string; methods: string[]; expiresAt: string } | null;
  /** Seconds. */
  retryAfter: number | null;
  requestId: string | null;
}

export class ServiceError extends Error implements Errors {
  constructor(errors: Errors);
  status: number;
  code: string;
  fields: FieldError[];
  mfa: Errors["mfa"];
  retryAfter: number | null;
  requestId: string | null;
}

export function errorsOf(answer: Response): Promise<Errors | null>;

export interface Tenant {
  id: string;
  name: string;
  isDefault: boolean;
}

export interface Tokens {
  token: string;
  refreshToken: string;
  expiresAt: string;
  isGlobal: boolean;
  tokenType: "Global" | "Tenant";
}

export interface Login extends Tokens {
  permissions: string[];
  isFirstLogin: boolean;
  mustChangePassword: boolean;
  daysUntilPasswordExpiration: number | null;
  /** Show `availableTenants`, and call chooseTenant. */
  requiresTenantSelection: boolean;
  availableTenants?: Tenant[];
  currentTenant: (Tenant & { permissions: string[] }) | null;
  smartAutoSwitched: boolean;
  mfaDeadline?: string;
  mustAddFactor?: boolean;
  recoveryCodes?: string[];
}

export interface Client {
  login(email: string, password: string, more?: Record<string, unknown>): Promise<Login>;
  /** Logs in by any operation that answers tokens, such as /api/auth/mfa/verify. */
  signIn<T extends Tokens = Login>(path: string, body: unknown): Promise<T>;
  chooseTenant(tenantId: string): Promise<Tokens & { currentTenant: Tenant }>;
  refresh(): Promise<void>;
  /** Whether there is a login: that of another tab, or the one that `remember` has stored. */
  restore(): Promise<boolean>;
  logout(): Promise<void>;
  /** As fetch, with the token of the login. */
  call(path: string, options?: RequestInit): Promise<Response>;
  /** Sends `body` as JSON, and returns the `data` of the answer. Throws ServiceError. */
  data<T = unknown>(path: string, options?: Omit<RequestInit, "body" | "headers"> & JsonOptions): Promise<T>;
  /** Sends a file to an import, and returns its report. Throws ServiceError. */
  upload<T = unknown>(path: string, file: Blob, options?: UploadOptions): Promise<T>;
}

export interface JsonOptions {
  body?: unknown;
  headers?: Record<string, string>;
}

export interface UploadOptions {
  /** The options of the import, such as `{ atomic: true }`. */
  options?: Record<string, unknown>;
  headers?: Record<string, string>;
  onProgress?: (sent: number, total: number) => void;
  signal?: AbortSignal;
}

export interface ClientOptions {
  /** Stores the refresh token in localStorage: a login survives reloads and a restart of the browser. */
  remember?: boolean;
  /** Called in every tab after a login, a choice of the tenant and the end of the login. */
  onChange?: (isLoggedIn: boolean) => void;
}

/** `base` is the address of the service; leave it out on the service's own host. */
export function makeClient(base?: string, options?: ClientOptions): Client;
