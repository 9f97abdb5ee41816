// Fields of the steps, named so that browsers and password managers know them.
import { signal } from "@preact/signals";
import { h } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { t } from "../words/words";

/** How many characters a password has. The service checks it; a test compares the two. */
export const PASSWORD_LENGTH = { shortest: 8, longest: 128 };

interface InputProps {
  label: string;
  name: string;
  value: string;
  change?: (value: string) => void;
  autocomplete: string;
  type?: "text" | "email" | "password";
  hint?: string;
  inputMode?: "numeric";
  /** Whether it takes the focus when it appears. */
  isNext?: boolean;
  onFocus?: () => void;
  onClick?: () => void;
}

export function Input({ label, change, hint, type = "text", isNext, ...more }: InputProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isNext) input.current?.focus();
  }, []);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {h("input", {
        ...more,
        id,
        ref: input,
        type,
        required: true,
        readOnly: !change,
        spellcheck: false,
        "aria-describedby": hint && `${id}-hint`,
        onInput: (event: { currentTarget: HTMLInputElement }) => change?.(event.currentTarget.value),
      })}
      {hint && (
        <span class="hint small" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  );
}

/** What was typed as the e-mail: the steps keep it. */
export const email = signal("");

interface EmailProps {
  autocomplete?: string;
  onFocus?: () => void;
}

export const EmailInput = ({ autocomplete = "username", onFocus }: EmailProps) => (
  <Input
    label={t("email")}
    name="email"
    type="email"
    autocomplete={autocomplete}
    value={email.value}
    change={(typed) => (email.value = typed)}
    onFocus={onFocus}
    onClick={onFocus}
  />
);

/** The account that a form is about, for people and for password managers. */
export const AccountInput = ({ value }: { value: string }) => (
  <Input label={t("email")} name="username" type="email" autocomplete="username" value={value} />
);

interface PasswordProps {
  label?: string;
  value: string;
  change: (value: string) => void;
}

export const PasswordInput = ({ label = t("password"), value, change }: PasswordProps) => (
  <Input label={label} name="password" type="password" autocomplete="current-password" value={value} change={change} />
);

export interface Chosen {
  password: string;
  repeated: string;
}

interface NewPasswordProps {
  label?: string;
  chosen: Chosen;
  change: (chosen: Chosen) => void;
}

/** A password that is chosen here, typed twice. */
export const NewPassword = ({ label = t("password"), chosen, change }: NewPasswordProps) => (
  <>
    <Input
      label={label}
      name="password"
      type="password"
      autocomplete="new-password"
      hint={t("password.hint", PASSWORD_LENGTH)}
      value={chosen.password}
      change={(password) => change({ ...chosen, password })}
    />
    <Input
      label={t("password.repeated")}
      name="repeated"
      type="password"
      autocomplete="new-password"
      value={chosen.repeated}
      change={(repeated) => change({ ...chosen, repeated })}
    />
  </>
);

/** The chosen password as bodies have it; raises an error where it was typed in two ways. */
export function bodyOf({ password, repeated }: Chosen) {
  if (password !== repeated) throw new Error(t("password.differ"));
  return { password, isPasswordEncrypted: false };
}

interface CodeProps {
  label?: string;
  value: string;
  change: (value: string) => void;
  isNext?: boolean;
}

export const CodeInput = ({ label = t("mfa.code.app"), ...more }: CodeProps) => (
  <Input label={label} name="code" inputMode="numeric" autocomplete="one-time-code" {...more} />
);
