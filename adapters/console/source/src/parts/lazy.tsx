// Screens that are fetched when they are opened. A tab that was open during a deployment asks for files that are
// gone: it reloads once, and says so if that does not help.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Failure, Loading } from "./States";

const RELOADED = "tenantry.reloaded";

export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | null = null;
  return function Lazy(props: P) {
    const [, changed] = useState(0);
    const [error, fail] = useState<unknown>(null);
    useEffect(() => {
      if (loaded) return;
      load().then(
        (component) => {
          loaded = component;
          sessionStorage.removeItem(RELOADED);
          changed(1);
        },
        (problem) => {
          if (sessionStorage.getItem(RELOADED)) fail(problem);
          else {
            sessionStorage.setItem(RELOADED, "yes");
            location.reload();
          }
        },
      );
    }, []);
    if (error) return <Failure error={error} retry={() => location.reload()} />;
    const Component = loaded;
    return Component ? <Component {...props} /> : <Loading />;
  };
}
