// Search without a server: browsers start no worker from a file, so its script runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      inside.document.open();
      inside.document.write("<!doctype html><body></body>");
      inside.document.close();
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      const load = source => new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        Object.assign(script, { src: source, onload: done, onerror: failed });
        inside.document.body.appendChild(script);
      });
      inside.importScripts = (...sources) => sources.reduce((last, one) => last.then(() => load(one)), Promise.resolve());
      this.ready = load(new URL(url, document.baseURI).href);
    }
    postMessage(data) {
      const inside = this.frame.contentWindow;
      this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
    terminate() { this.frame.remove(); }
  };
  window.Worker = window.IFrameWorker;
}
