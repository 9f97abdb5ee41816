import common from "../../../../../../domain/words/en/common.json";
import administration from "./administration.json";
import errors from "./errors.json";
import events from "./events.json";
import rows from "./rows.json";

export default { ...common, ...rows, ...administration, ...errors, ...events };
