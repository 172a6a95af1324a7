// Pages that are opened from a directory may not start workers, so that the search would not work. There a frame does what its worker would do.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.loaded = new Promise((resolve) => {
        this.frame.onload = resolve;
      });
      // What the script of a worker expects: scripts one after the other, and messages to whoever made it.
      window.takeFromWorker = (data) => this.take(data);
      this.frame.srcdoc = `<script>
        var postMessage = (data) => parent.takeFromWorker(data);
        var importScripts = (...addresses) => addresses.reduce((before, address) => before.then(() => new Promise((resolve) => {
          const script = document.createElement("script");
          Object.assign(script, { src: address, onload: resolve });
          document.head.append(script);
        })), Promise.resolve());
      </script><script src="${address}"></script>`;
      document.body.append(this.frame);
    }

    postMessage(data) {
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    take(data) {
      const message = new MessageEvent("message", { data });
      this.dispatchEvent(message);
      if (this.onmessage) this.onmessage(message);
    }

    terminate() {
      this.frame.remove();
    }
  };
}
