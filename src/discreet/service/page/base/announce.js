/** What a screen reader hears without the focus moving. */
function speak(id, text) {
  const region = document.getElementById(id);
  region.textContent = "";
  // In its own turn, so that the same words are heard twice when they are said twice
  setTimeout(() => { region.textContent = text; }, 60);
}

export const say = (text) => speak("said", text);
export const warn = (text) => speak("warned", text);
