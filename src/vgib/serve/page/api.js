// The service, as functions; every failure is an Error with a sentence for people.

const PREFIX = "/api/v1";

const GONE =
  "The service does not answer. It may have been stopped: start it again with `vgib serve`, then try once more.";

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(PREFIX + path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error(GONE);
  }
  if (answer.ok) return answer;
  let told;
  try {
    told = (await answer.json()).error.message;
  } catch {
    told = `The service answered with status ${answer.status}.`;
  }
  throw new Error(told);
}

export const get = async (path) => (await ask(path)).json();

const sending = (body, signal) => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
  signal,
});

export const post = async (path, body, signal) => (await ask(path, sending(body, signal))).json();

export const picture = async (body, signal) => (await ask("/draw", sending(body, signal))).blob();

/** Sends a file and hands over each line of the answer as it comes. */
export async function upload(file, query, onLine, signal) {
  const path = `/table?${new URLSearchParams(query)}`;
  const answer = await ask(path, {
    method: "POST",
    headers: { "content-type": "text/csv" },
    body: file,
    signal,
  });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error(GONE);
    }
    const lines = (rest + (part.value ?? "")).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const told = JSON.parse(line);
      if (told.error) throw new Error(told.error.message);
      onLine(told);
    }
    if (part.done) return;
  }
}
