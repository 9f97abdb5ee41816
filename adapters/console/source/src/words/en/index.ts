import common from "../../../../../../domain/words/en/common.json";
import administration from "./administration.json";
import events from "./events.json";
import rows from "./rows.json";

export default { ...common, ...rows, ...administration, ...events };
