// Classic script in the head: the stored theme holds before the first paint.
(function () {
  'use strict';
  const names = ['auto', 'light', 'dark'];
  let stored = null;
  try {
    stored = window.localStorage.getItem('koordlet-theme');
  } catch (ignored) { /* storage may be forbidden: the choice lasts as long as the page */ }
  document.documentElement.dataset.theme = names.includes(stored) ? stored : 'auto';
})();
