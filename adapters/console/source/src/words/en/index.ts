import administration from "./administration.json";
import rows from "./rows.json";

export default { ...rows, ...administration };
