// A module of its own, which the page fetches when somebody opens it.
export const show = (main, id) => { main.textContent = 'person ' + id }
