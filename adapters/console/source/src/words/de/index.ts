import answers from "../../../../../../domain/words/de/answers.json";
import administration from "./administration.json";
import errors from "./errors.json";
import events from "./events.json";
import rows from "./rows.json";

export { answers };
export default { ...rows, ...administration, ...errors, ...events };
