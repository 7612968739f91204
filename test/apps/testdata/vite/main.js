import './style.css'
import { text } from './text.js'

const show = text => { document.querySelector('#text').textContent = text }
show(text)
if (import.meta.hot) import.meta.hot.accept('./text.js', changed => show(changed.text))
