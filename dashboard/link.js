// Requests to the daemon that served this page, and how long it has been silent.

const kPatience = 10000;

/** What went wrong, with the HTTP status (0: no answer at all). */
export class NoAnswer extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export class Link {
  constructor() {
    this.opened = performance.now();
    this.lastAnswer = null; // of performance.now()
    this.lastFault = null;
  }

  /** Milliseconds since the last answer, or since the page was opened. */
  silence() {
    return performance.now() - (this.lastAnswer ?? this.opened);
  }

  /** JSON of one endpoint. Throws NoAnswer. */
  async get(path) {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), kPatience);
    try {
      const response = await fetch(path, {signal: stop.signal, headers: {Accept: 'application/json'}});
      const body = await response.json().catch(() => null);
      if (response.status < 500 || response.status === 503) this.lastAnswer = performance.now();
      if (!response.ok) {
        const why = body && typeof body.detail === 'string' ? body.detail : response.statusText;
        throw new NoAnswer(why || `status ${response.status}`, response.status);
      }
      if (body === null || typeof body !== 'object') throw new NoAnswer('the answer is not JSON', response.status);
      this.lastFault = null;
      return body;
    } catch (e) {
      const fault = e instanceof NoAnswer ? e : new NoAnswer(stop.signal.aborted ? 'no answer in time' : 'not reachable', 0);
      this.lastFault = fault.message;
      throw fault;
    } finally {
      clearTimeout(timer);
    }
  }

  /** All items of a paged list, at most `most`; `total` as the daemon counts. */
  async pages(path, most) {
    const items = [];
    let next = null;
    let total = null;
    do {
      const where = new URLSearchParams({limit: String(Math.min(500, most - items.length))});
      if (next !== null) where.set('continue', next);
      const page = await this.get(`${path}?${where}`);
      items.push(...(Array.isArray(page.items) ? page.items : []));
      total = typeof page.total === 'number' ? page.total : items.length;
      next = typeof page.continue === 'string' ? page.continue : null;
    } while (next !== null && items.length < most);
    return {items, total};
  }
}

/** Calls `task` again and again, `pause()` ms after its end; not while the page is hidden. */
export function repeat(task, pause) {
  let timer = null;
  let running = false;
  let again = false;
  const run = async () => {
    if (running) {
      again = true;
      return;
    }
    clearTimeout(timer);
    if (document.hidden) return;
    running = true;
    try {
      await task();
    } catch (e) {
      console.error(e); // one odd answer does not end the page
    }
    running = false;
    if (again) {
      again = false;
      run();
    } else {
      timer = setTimeout(run, pause());
    }
  };
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) run();
  });
  run();
  return run;
}
