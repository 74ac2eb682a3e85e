// Lets this page open without a network: the newest copy of each of its files, and nothing else, is kept. Records are
// the replica's business.

const cache = "portico-pages";
const files = [
  "./", "notes.js", "notes.css", "conflicts.js", "deletion.js", "note-editor.js", "note-list.js",
  "portico.js", "attachments.js", "checksum.js", "credentials.js", "database.js", "edits.js", "errors.js", "events.js",
  "outbox.js", "pause.js", "pull.js", "pulling.js", "pushing.js", "replica.js", "requests.js", "resources.js",
  "synchronizer.js", "/pages/base.css", "/pages/elements.js", "/pages/account.js",
];
const shared = new URL("/pages/", self.location.href).href;

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(cache).then((kept) => kept.addAll(files)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  const isOurs = url.startsWith(self.registration.scope) || url.startsWith(shared);
  if (method === "GET" && isOurs) event.respondWith(newest(event.request));
});

async function newest(request) {
  const kept = await caches.open(cache);
  try {
    const answer = await fetch(request);
    if (answer.ok) await kept.put(request, answer.clone());
    return answer;
  } catch (error) {
    const known = await kept.match(request, { ignoreSearch: true });
    if (known) return known;
    throw error;
  }
}
