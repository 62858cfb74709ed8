// The OpenAPI description of the service as a page to read: every route, its fields, an example.

import { $, h, table } from "/page/dom.js";
import { setUpTheme } from "/page/theme.js";

let schemas = {};

const resolve = (schema) => (schema?.$ref ? schemas[schema.$ref.split("/").pop()] : schema) ?? {};

function kind(schema) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map(kind).join(" | ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.const) return JSON.stringify(schema.const);
  if (schema.type === "array") return `[${schema.items ? kind(schema.items) : "…"}]`;
  return schema.type ?? "any";
}

function range(schema) {
  const options = schema.anyOf ?? [schema];
  const names = { minimum: "≥", exclusiveMinimum: ">", maximum: "≤", exclusiveMaximum: "<", minLength: "length ≥", maxLength: "length ≤", minItems: "items ≥", maxItems: "items ≤" };
  return options.flatMap((one) => Object.entries(names).filter(([key]) => key in one).map(([key, sign]) => `${sign} ${one[key]}`)).join(", ");
}

function example(schema) {
  const full = resolve(schema);
  if (full.examples?.length) return full.examples[0];
  if ("default" in full) return full.default;
  if (full.type === "object") {
    const wanted = Object.entries(full.properties ?? {}).filter(([name, field]) => full.required?.includes(name) || resolve(field).examples);
    return Object.fromEntries(wanted.map(([name, field]) => [name, example(field)]));
  }
  if (full.type === "array") return [example(full.items)];
  return { string: "", integer: 1, number: 0.5, boolean: true }[full.type] ?? null;
}

function fields(schema, caption) {
  const full = resolve(schema);
  const rows = Object.entries(full.properties ?? {});
  if (!rows.length) return h("p", { class: "soft" }, full.description ?? kind(schema));
  const columns = [
    ["Field", ([name]) => h("code", {}, name + (full.required?.includes(name) ? " *" : "")), false],
    ["Kind", ([, field]) => h("code", {}, kind(field)), false],
    ["Default", ([, field]) => ("default" in field ? JSON.stringify(field.default) : ""), false],
    ["Limits", ([, field]) => range(field), false],
    ["", ([, field]) => field.description ?? "", false],
  ];
  return h("div", { class: "scroll" }, table(columns, rows, caption));
}

function route(path, method, about) {
  const [type, content] = Object.entries(about.requestBody?.content ?? {})[0] ?? [];
  const sent = content?.example ?? (content ? JSON.stringify(example(content.schema)) : null);
  const curl = sent == null
    ? `curl ${location.origin}${path}`
    : `curl ${location.origin}${path} \\\n  -H 'content-type: ${type}' \\\n  --data-binary $'${sent.replaceAll("\n", "\\n").replaceAll("'", "\\'")}'`;
  const answer = about.responses["200"]?.content?.["application/json"]?.schema;
  const query = (about.parameters ?? []).map((one) => [one.name, { ...one.schema, description: one.description ?? one.schema.description }]);
  return h(
    "section",
    { class: "card", "aria-label": `${method} ${path}` },
    h("h2", {}, h("code", {}, `${method.toUpperCase()} ${path}`)),
    h("p", {}, about.description ?? about.summary ?? ""),
    h("pre", {}, h("code", {}, curl)),
    query.length ? h("details", {}, h("summary", {}, "Query"), fields({ type: "object", properties: Object.fromEntries(query) }, "Query")) : null,
    content && type === "application/json" ? h("details", {}, h("summary", {}, "Asked"), fields(content.schema, "Asked")) : null,
    answer ? h("details", {}, h("summary", {}, "Answered"), fields(answer, "Answered")) : null,
  );
}

async function start() {
  setUpTheme();
  const api = await (await fetch("/api/v1/openapi.json")).json();
  schemas = api.components.schemas;
  $("claim").textContent = `${api.info.summary} Version ${api.info.version}.`;
  $("routes").replaceChildren(
    ...Object.entries(api.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, about]) => route(path, method, about))),
    h("section", { class: "card" }, h("h2", {}, "Schemas"),
      ...Object.entries(schemas).map(([name, schema]) => h("details", { id: name }, h("summary", {}, name), fields(schema, name)))),
  );
}

start().catch(() => $("routes").replaceChildren(h("p", { class: "problem" }, "The service does not answer; start it again with `vgib serve`.")));
