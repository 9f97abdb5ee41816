// The secret of a new authenticator app: as a code to scan, and as text to type.
import type { Begun as BegunFactor } from "../api/types";
import { t } from "../words/words";

export type Begun = Required<Pick<BegunFactor, "state" | "secret" | "qrSvg">>;

export const Scan = ({ begun }: { begun: Begun }) => (
  <>
    <p>{t("mfa.scan")}</p>
    <img class="qr" alt={t("mfa.qr")} src={`data:image/svg+xml,${encodeURIComponent(begun.qrSvg)}`} />
    <pre dir="ltr">{begun.secret}</pre>
  </>
);
