// What a screen shows when it has no data: nothing there, loading, an error, forbidden, offline.
import { type ComponentChildren, createContext } from "preact";
import { useCallback, useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/api";
import { t } from "../words/words";
import { Icon } from "./Icon";
import { Title } from "./Title";
import { reasonText } from "./Toast";

interface Props {
  icon: string;
  title: string;
  text?: string;
  /** All that a screen shows: its title is the heading of the screen. */
  isScreen?: boolean;
  children?: ComponentChildren;
}

export function Notice({ icon, title, text, isScreen, children }: Props) {
  return (
    <div class="notice">
      <Icon name={icon} />
      {isScreen ? <Title>{title}</Title> : <h2>{title}</h2>}
      {text && <p>{text}</p>}
      {children && <div class="buttons">{children}</div>}
    </div>
  );
}

interface FailureProps {
  error: unknown;
  retry?: () => void;
  /** How the screen calls a field that the error names. */
  name?: (field: string) => string;
  isScreen?: boolean;
}

export function Failure({ error, retry, name, isScreen }: FailureProps) {
  const status = error instanceof ApiError ? error.status : -1;
  const again = retry && (
    <button type="button" onClick={retry}>
      <Icon name="refresh-cw" />
      {t("again")}
    </button>
  );
  if (status === 0)
    return (
      <Notice icon="cloud-off" title={t("offline.title")} text={t("offline.text")} isScreen={isScreen}>
        {again}
      </Notice>
    );
  if (status === 403)
    return <Notice icon="lock" title={t("forbidden.title")} text={t("forbidden.text")} isScreen={isScreen} />;
  if (status === 404)
    return <Notice icon="inbox" title={t("missing.title")} text={t("missing.text")} isScreen={isScreen} />;
  return (
    <div role="alert">
      <Notice icon="circle-alert" title={t("failed.title")} text={reasonText(error, name)} isScreen={isScreen}>
        {again}
      </Notice>
    </div>
  );
}

/** A screen that the caller may not see. */
export const Forbidden = () => <Failure error={new ApiError(403, "FORBIDDEN", "")} isScreen />;

/** The outline of what is read; of a whole screen it has the places of the heading and of a table, of a list its rows. */
export const Loading = ({ isScreen, rows }: { isScreen?: boolean; rows?: number }) => (
  <div class={`loading ${isScreen ? "screen" : rows ? "rows" : ""}`} role="status" aria-label={t("loading")}>
    {Array.from({ length: rows ?? 3 }, (_, index) => (
      <span key={index} />
    ))}
  </div>
);

const PATIENCE = 1_000; // milliseconds until panels that are read are shown without those that are not

/** Counts one more part that is read; gives what counts it off. */
const Reading = createContext<(() => () => void) | null>(null);

/** Panels that are read separately appear at the same time, so that none moves another. */
export function Together({ children }: { children: ComponentChildren }) {
  const [isShown, show] = useState(false);
  const open = useRef(0);
  const showWhenRead = () => open.current === 0 && show(true);
  const begin = useCallback(() => {
    open.current += 1;
    return () => {
      open.current -= 1;
      // a part may hold others, which begin in the same turn
      queueMicrotask(showWhenRead);
    };
  }, []);
  useEffect(() => {
    showWhenRead();
    const timer = setTimeout(() => show(true), PATIENCE);
    return () => clearTimeout(timer);
  }, []);
  return (
    <Reading.Provider value={begin}>
      {!isShown && <Loading />}
      <div class="together" hidden={!isShown}>
        {children}
      </div>
    </Reading.Provider>
  );
}

export interface Loaded<T> {
  data: T | null;
  error: unknown;
  /** Whether what is shown is read again, or something else in its place. */
  isBusy: boolean;
  reload: () => Promise<void>;
  set: (data: T) => void;
}

/** Reads something when the screen opens and when a dependency changes; what was read stays while it is read again, and
 * with `keeps` also while something else is read in its place. */
export function useLoaded<T>(read: () => Promise<T>, dependencies: unknown[], keeps = false): Loaded<T> {
  const [data, set] = useState<T | null>(null);
  const [error, fail] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(true);
  const last = useRef(0);
  const begin = useContext(Reading);
  const isFirst = isBusy && data === null;
  useLayoutEffect(() => (isFirst && begin ? begin() : undefined), [isFirst, begin]);
  const reload = useCallback(async () => {
    const asked = ++last.current;
    // a slow answer to what was asked before is not what is shown now
    const isCurrent = () => asked === last.current;
    setBusy(true);
    try {
      const found = await read();
      if (!isCurrent()) return;
      set(found);
      fail(null);
    } catch (problem) {
      if (isCurrent()) fail(problem);
    }
    if (isCurrent()) setBusy(false);
  }, dependencies);
  useEffect(() => {
    if (!keeps) set(null);
    fail(null);
    void reload();
  }, [reload]);
  return { data, error, isBusy, reload, set };
}

interface ReadyProps<T> {
  loaded: Loaded<T>;
  /** What is read has the heading of the screen. */
  isScreen?: boolean;
  children: (data: T) => ComponentChildren;
}

export function Ready<T>({ loaded, isScreen, children }: ReadyProps<T>) {
  if (loaded.error) return <Failure error={loaded.error} retry={loaded.reload} isScreen={isScreen} />;
  return loaded.data === null ? <Loading isScreen={isScreen} /> : <>{children(loaded.data)}</>;
}
