// Parts of the console that are fetched when they are opened.
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError } from "../api/api";
import { Failure, Loading } from "./States";

const answers = () =>
  fetch(location.href, { headers: { Accept: "text/html" } }).then(
    (response) => response.ok,
    () => false,
  );

const RELOADED = "tenantry.reloaded";

/** A component that is fetched when it is opened. A tab that was open during a deployment asks for files that are gone: it
 * reloads once, and says so if that does not help. */
export function lazy<P extends object>(
  load: () => Promise<ComponentType<P>>,
  waiting: ComponentChildren = <Loading isScreen />,
): ComponentType<P> {
  let loaded: ComponentType<P> | null = null;
  return function Lazy(props: P) {
    const [, changed] = useState(0);
    const [error, fail] = useState<unknown>(null);
    async function fetched(): Promise<void> {
      fail(null);
      try {
        loaded = await load();
        sessionStorage.removeItem(RELOADED);
        changed(1);
      } catch (problem) {
        // without the service a reload would leave nothing but the browser's own page
        if (!(await answers())) return fail(new ApiError(0, "OFFLINE", "The service cannot be reached."));
        if (sessionStorage.getItem(RELOADED)) return fail(problem);
        sessionStorage.setItem(RELOADED, "yes");
        location.reload();
      }
    }
    useEffect(() => {
      if (!loaded) void fetched();
    }, []);
    const isOffline = error instanceof ApiError;
    if (error) return <Failure error={error} retry={() => (isOffline ? void fetched() : location.reload())} />;
    const Component = loaded;
    return Component ? <Component {...props} /> : <>{waiting}</>;
  };
}
