// The forms work without this script. It shows how far an upload is, lets it be cancelled, and tells that a picture is
// being drawn.
"use strict";

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches("[data-upload]")) {
    event.preventDefault();
    upload(form);
  } else if (form.dataset.busy) {
    const button = form.querySelector("button");
    button.textContent = form.dataset.busy;
    button.setAttribute("aria-busy", "true");
  }
});

// A page that comes back from the history has a form that was sent.
addEventListener("pageshow", (event) => event.persisted && location.reload());

async function upload(form) {
  const panel = document.getElementById("progress");
  const bar = panel.querySelector("progress");
  const sent = panel.querySelector(".sent");
  const state = panel.querySelector(".state");
  const cancel = panel.querySelector("button");
  const button = form.querySelector("button");
  const file = form.elements.file.files[0];
  panel.hidden = false;
  if (file && file.size > Number(form.dataset.max)) {
    cancel.hidden = true;
    state.textContent = `The file is ${megabytes(file.size)}; the gallery accepts at most ${megabytes(form.dataset.max)}. Nothing was sent.`;
    return;
  }
  const body = new FormData(form);
  const abort = new AbortController();
  const events = new EventSource("/upload-progress?form=" + encodeURIComponent(body.get("form")));
  await new Promise((resolve) => { events.onopen = events.onerror = resolve; });
  const ended = new Promise((resolve) => {
    events.onmessage = (event) => {
      const progress = JSON.parse(event.data);
      if (progress.end) {
        resolve(progress.end);
        return;
      }
      if (progress.total > 0) {
        bar.value = progress.sent / progress.total;
        sent.textContent = `${megabytes(progress.sent)} of ${megabytes(progress.total)}`;
      }
      if (progress.sent === progress.total) {
        bar.removeAttribute("value");
        state.textContent = "Sent. Transcribing may take a few minutes.";
      }
    };
    events.onerror = () => {
      events.close();
      resolve("");
    };
  });
  bar.value = 0;
  sent.textContent = "";
  state.textContent = "Sending. Leaving this page cancels the upload.";
  cancel.hidden = false;
  cancel.onclick = () => {
    state.textContent = "Cancelling.";
    abort.abort();
  };
  button.disabled = true;
  cancel.focus();
  try {
    const response = await fetch(form.action, { method: "POST", body, signal: abort.signal });
    if (response.redirected) {
      location.assign(response.url);
      return;
    }
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    document.querySelector("main").replaceWith(page.querySelector("main"));
    document.querySelector(".problem")?.focus();
  } catch {
    const advice = await ended;
    state.textContent = (abort.signal.aborted ? "Cancelled. " : "The connection to the gallery was lost. ") +
      (advice || "Check the recordings before you press the button again.");
    bar.value = 0;
    sent.textContent = "";
    button.disabled = false;
    button.focus();
    cancel.hidden = true;
  } finally {
    events.close();
  }
}

function megabytes(bytes) {
  return (bytes / 1048576).toFixed(1) + " MB";
}
