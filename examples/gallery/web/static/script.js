// The forms work without this script. It checks a form before its file is sent, keeps the chosen file if the form is
// refused, shows how far an upload is, lets it be cancelled, and says that a picture is being drawn.
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
    const checked = await check(form);
    if (checked.redirected) {
      location.assign(checked.url); // it was sent before
      return;
    }
    if (checked.page) {
      show(checked.page, form);
      return;
    }
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

// check asks whether the form may be sent, with the first bytes of its file. It returns where that leads, or the page
// that says why not.
async function check(form) {
  const body = new FormData(form);
  const file = body.get("file");
  body.set("file", file.slice(0, 4096, file.type), file.name);
  let response;
  try {
    response = await fetch("/check-recording", { method: "POST", body });
  } catch {
    throw new Error("The gallery cannot be reached, or the file cannot be read. Nothing was sent.");
  }
  if (response.status === 429) {
    throw new Error("Too many requests from your address. Nothing was sent. Try again in a few seconds.");
  }
  return { redirected: response.redirected, url: response.url, page: await response.text() };
}

// send sends the form, and returns where that leads. An XMLHttpRequest tells how much it has sent, as fetch does not.
function send(form, cancel) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const fail = async (what) => reject(new Error(what + " " + await consequence(form)));
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

// consequence says what an upload that ended early has done. A form that the gallery accepts again has created nothing.
async function consequence(form) {
  say("Checking what was created.");
  for (let look = 0; look < 10; look++) {
    try {
      if (!(await check(form)).redirected) {
        return "Nothing was created and nothing was billed. You can press the button again.";
      }
    } catch {
      return "It may be created anyway, and billed. Press the button again to see: no second one is created.";
    }
    await new Promise((resolve) => { setTimeout(resolve, 200); });
  }
  return "It may be created anyway, and billed. Press the button again to see: no second one is created.";
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
