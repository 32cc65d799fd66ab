// The forms work without this script. It shows how far an upload is, lets it be cancelled, keeps the chosen file if the
// form is refused, and says that a picture is being drawn.
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

// A page that comes back from the history may show what was true when it was left.
addEventListener("pageshow", (event) => event.persisted && location.reload());

async function upload(form) {
  const button = form.querySelector("button");
  const cancel = document.querySelector("#progress button");
  const file = form.elements.file.files[0];
  if (file && file.size > Number(form.dataset.max)) {
    say(`The file is ${megabytes(file.size)}; the gallery accepts at most ${megabytes(form.dataset.max)}. `
      + "Nothing was sent.");
    return;
  }
  button.disabled = true;
  try {
    cancel.hidden = false;
    cancel.focus();
    const response = await send(form, cancel);
    if (response.redirected) {
      location.assign(response.url);
    } else {
      show(response.page, form);
    }
  } catch (problem) {
    say(problem.message);
    cancel.hidden = true;
    button.disabled = false;
    button.focus();
  }
}

// send sends the form, and returns where that leads. An XMLHttpRequest tells how much it has sent, as fetch does not.
function send(form, cancel) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const fail = (what) => {
      form.elements.name.readOnly = true; // under another name, the button would not find the record
      reject(new Error(`${what} Unless the whole file had arrived, nothing was created. `
        + "Press the button again: no second one is created."));
    };
    request.upload.onprogress = (event) => progress(event.loaded, event.total);
    request.upload.onload = () => {
      progress();
      say("Sent. Transcribing may take a few minutes.");
    };
    request.onload = () => {
      const redirected = request.responseURL !== form.action;
      resolve({ redirected, url: request.responseURL, page: request.responseText });
    };
    request.onerror = () => fail("The connection to the gallery was lost.");
    request.onabort = () => fail("Cancelled.");
    cancel.onclick = () => request.abort();
    request.open("POST", form.action);
    request.send(new FormData(form));
    progress(0, 1);
    say("Sending. Leaving this page cancels the upload.");
  });
}

// show replaces the page's content by that of another page. The chosen file stays chosen.
function show(text, form) {
  const page = new DOMParser().parseFromString(text, "text/html");
  const main = page.querySelector("main:has(#file)");
  if (!main) {
    throw new Error("Something in between rejected the upload. Press the button again: no second one is created.");
  }
  document.querySelector("main").replaceWith(main);
  document.getElementById("file").files = form.elements.file.files;
  document.querySelector(".problem").focus();
}

function say(text) {
  document.getElementById("progress").hidden = false;
  document.querySelector("#progress .state").textContent = text;
}

// progress shows how much was sent; without arguments, that all was.
function progress(sent, total) {
  const bar = document.querySelector("#progress progress");
  if (total === undefined) {
    bar.removeAttribute("value");
    return;
  }
  bar.value = sent / total;
  document.querySelector("#progress .sent").textContent = `${megabytes(sent)} of ${megabytes(total)}`;
}

function megabytes(bytes) {
  return (bytes / 1048576).toFixed(1) + " MB";
}
