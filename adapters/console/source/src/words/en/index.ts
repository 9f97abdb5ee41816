import administration from "./administration.json";
import errors from "./errors.json";
import events from "./events.json";
import rows from "./rows.json";

export default { ...rows, ...administration, ...errors, ...events };
