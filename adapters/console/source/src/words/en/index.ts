import common from "../../../../../../domain/words/en/common.json";
import administration from "./administration.json";
import events from "./events.json";
import live from "./live.json";
import rows from "./rows.json";
import webhooks from "./webhooks.json";

export default { ...common, ...rows, ...administration, ...events, ...live, ...webhooks };
