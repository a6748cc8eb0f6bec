// Times in the reader's zone. A near time is relative, "5 minutes ago", and is updated; any other is in
// the format of the reader's language. The tooltip has the exact time. A <time data-clock> is always a
// time of day, for tables and for sentences with "since". Without this script times are in UTC.
(() => {
  "use strict";
  const sameYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  const anyYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
  // It is part of a sentence of the page, so it uses the language of the page.
  const relative = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "auto" });
  const second = 1000, minute = 60 * second, hour = 60 * minute, day = 24 * hour;

  // near returns the text for a time within some days of now, and nothing for others.
  const near = (at) => {
    const from = at - Date.now(), away = Math.abs(from);
    if (away < minute) return from > 0 ? "in a moment" : "just now";
    if (away < hour) return relative.format(Math.trunc(from / minute), "minute");
    if (away < day) return relative.format(Math.trunc(from / hour), "hour");
    if (away < 7 * day) return relative.format(Math.trunc(from / day), "day");
    return "";
  };
  const show = (t) => {
    const at = new Date(t.dateTime);
    const clock = (at.getFullYear() === new Date().getFullYear() ? sameYear : anyYear).format(at);
    const text = ("clock" in t.dataset ? "" : near(at)) || clock;
    if (t.textContent !== text) t.textContent = text;
  };
  window.sheafTimes = (from) => { for (const t of from.querySelectorAll("time[datetime]")) show(t); };
  setInterval(() => { if (!document.hidden) window.sheafTimes(document); }, 30 * second);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) window.sheafTimes(document); });
})();
