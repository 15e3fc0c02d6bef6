import { render } from 'preact';
import { App } from './app';
import { readView } from './data';
import './style.css';

const root = document.getElementById('app')!;
const text = document.getElementById('data')!.textContent!.trim();
readView(text).then(
  (view) => {
    document.title = view.title;
    render(<App view={view} />, root);
  },
  (error: unknown) => {
    root.textContent = `This page's data cannot be read: ${String(error)}`;
  },
);
