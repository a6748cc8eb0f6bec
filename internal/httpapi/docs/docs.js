// Gives the page the reader's theme, the address of the service, and the key that they type to every request. The key is kept nowhere
// else. It runs before RapiDoc, which reads its attributes when it begins.
const reference = document.querySelector('rapi-doc');
const field = document.getElementById('key');
const state = document.getElementById('key-state');
const hint = state.textContent;
const dark = matchMedia('(prefers-color-scheme: dark)');

const themes = {
  light: { 'bg-color': '#ffffff', 'text-color': '#1f2937', 'nav-bg-color': '#f8fafc', 'nav-text-color': '#1f2937', 'primary-color': '#2563eb' },
  dark: { 'bg-color': '#12161d', 'text-color': '#d7dde6', 'nav-bg-color': '#0d1117', 'nav-text-color': '#d7dde6', 'primary-color': '#6ea0ff' },
};

function applyTheme() {
  const name = dark.matches ? 'dark' : 'light';
  reference.setAttribute('theme', name);
  for (const [attribute, value] of Object.entries(themes[name])) reference.setAttribute(attribute, value);
}

function applyKey() {
  const key = field.value.trim();
  reference.removeAllSecurityKeys?.(); // there once RapiDoc has begun; until then "spec-loaded" is to come
  if (key !== '') reference.setApiKey?.('bearer', key);
  state.textContent = key === '' ? hint : 'sent with “try”, kept in this page alone';
}

// "Try" asks the service that served this page, wherever that is. RapiDoc takes the first server of the document unless both
// attributes name the same address: it does not find the relative one.
function applyAddress() {
  const here = new URL('.', location.href).href.replace(/\/$/, '');
  reference.setAttribute('server-url', here);
  reference.setAttribute('default-api-server', here);
}

applyAddress();
applyTheme();
dark.addEventListener('change', applyTheme);
document.getElementById('key-form').addEventListener('submit', (event) => event.preventDefault());
field.addEventListener('input', applyKey);
reference.addEventListener('spec-loaded', applyKey);
